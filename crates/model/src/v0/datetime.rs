//! Times on the wire: RFC 3339 in UTC, whole seconds, as stock clients write and read them.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DateTime(pub Millis);

impl DateTime {
    /// When its month began, in UTC.
    #[must_use]
    pub fn start_of_month(self) -> Self {
        let text = self.to_string();
        let first = text.get(..7).map(|month| format!("{month}-01T00:00:00Z"));
        let first = first.and_then(|text| text.parse::<Timestamp>().ok());
        first.map_or(self, |time| Self(Millis(time.as_millisecond())))
    }
}

impl fmt::Display for DateTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = Timestamp::from_second(self.0.as_secs()).unwrap_or(Timestamp::MAX);
        time.fmt(f)
    }
}

impl Serialize for DateTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DateTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let time = Timestamp::deserialize(deserializer)?;
        Ok(Self(Millis(time.as_millisecond())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_are_written_and_any_offset_is_read() {
        let time = DateTime(Millis(1_794_730_576_789));
        let json = serde_json::to_string(&time).unwrap();
        assert_eq!(json, r#""2026-11-15T08:16:16Z""#);
        let read: DateTime = serde_json::from_str(r#""2026-11-15T09:16:16.5+01:00""#).unwrap();
        assert_eq!(read, DateTime(Millis(1_794_730_576_500)));
    }

    #[test]
    fn a_month_begins_at_midnight() {
        let time = DateTime(Millis(1_794_730_576_789));
        assert_eq!(time.start_of_month().to_string(), "2026-11-01T00:00:00Z");
    }
}
