//! Log sequence numbers: how the compute door names its actions.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A positive number that grows with every action of a server and is never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lsn(NonZeroU64);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a sequence number: expected a positive decimal number")]
pub struct NotAnLsn(String);

impl Lsn {
    pub const fn get(self) -> u64 {
        self.0.get()
    }

    pub fn from_row(id: i64) -> Option<Self> {
        u64::try_from(id).ok().and_then(NonZeroU64::new).map(Self)
    }
}

impl FromStr for Lsn {
    type Err = NotAnLsn;
    fn from_str(text: &str) -> Result<Self, NotAnLsn> {
        let canonical = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        canonical
            .then(|| text.parse().ok())
            .flatten()
            .map(Self)
            .ok_or_else(|| NotAnLsn(text.chars().take(64).collect()))
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_canonical_positive_numbers_parse() {
        assert_eq!("17".parse::<Lsn>().unwrap().get(), 17);
        for bad in ["", "0", "017", "-1", "+1", "1e3", "18446744073709551616"] {
            assert!(bad.parse::<Lsn>().is_err(), "{bad}");
        }
    }
}
