//! A field of a patch that null clears.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Patched<T> {
    /// The field was not there.
    #[default]
    Keep,
    /// The field was null.
    Clear,
    Set(T),
}

impl<T> Patched<T> {
    pub fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patched<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map_or(Self::Clear, Self::Set))
    }
}

impl<T: Serialize> Serialize for Patched<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Keep | Self::Clear => serializer.serialize_none(),
            Self::Set(value) => value.serialize(serializer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v0::PlotPatch;

    fn title(json: &str) -> Patched<String> {
        serde_json::from_str::<PlotPatch>(json).unwrap().title
    }

    #[test]
    fn absent_null_and_given_are_three_things() {
        assert_eq!(title("{}"), Patched::Keep);
        assert_eq!(title(r#"{"title": null}"#), Patched::Clear);
        assert_eq!(title(r#"{"title": "a"}"#), Patched::Set("a".to_owned()));
    }

    #[test]
    fn what_is_kept_is_not_sent() {
        assert_eq!(serde_json::to_string(&PlotPatch::default()).unwrap(), "{}");
    }
}
