//! Prefixed lower-case ULIDs, as the runtime door writes them: `rtj_01kkygkagq0jk17bx6y1w8c3df`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Entropy, Millis};

/// Crockford's base 32 in lower case: no i, l, o, u.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LEN: usize = 26;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not an id of the form `{prefix}` and 26 lower-case base-32 characters")]
pub struct NotAnId {
    text: String,
    prefix: &'static str,
}

fn encode(value: u128) -> String {
    (0..LEN)
        .rev()
        .map(|place| {
            let digit = (value >> (place * 5)) & 31;
            char::from(ALPHABET[usize::try_from(digit).expect("five bits fit")])
        })
        .collect()
}

fn decode(text: &str) -> Option<u128> {
    // 26 characters hold 130 bits: the first one may only use three of its five.
    if text.len() != LEN || text.as_bytes()[0] > b'7' {
        return None;
    }
    text.bytes().try_fold(0u128, |value, byte| {
        let digit = ALPHABET.iter().position(|&a| a == byte)?;
        Some((value << 5) | digit as u128)
    })
}

fn mint(wall: Millis, entropy: &dyn Entropy) -> u128 {
    let mut random = [0; 10];
    entropy.fill(&mut random);
    let random = random
        .iter()
        .fold(0u128, |value, &byte| (value << 8) | u128::from(byte));
    let millis = u128::from(wall.0.max(0).unsigned_abs() & ((1 << 48) - 1));
    (millis << 80) | random
}

macro_rules! ulid_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(u128);

        impl $name {
            pub fn mint(wall: Millis, entropy: &dyn Entropy) -> Self {
                Self(mint(wall, entropy))
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;
            fn from_str(text: &str) -> Result<Self, NotAnId> {
                text.strip_prefix($prefix).and_then(decode).map(Self).ok_or_else(|| NotAnId {
                    text: text.chars().take(64).collect(),
                    prefix: $prefix,
                })
            }
        }

        impl TryFrom<String> for $name {
            type Error = NotAnId;
            fn try_from(text: String) -> Result<Self, NotAnId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.to_string()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "{}"), encode(self.0))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

ulid_ids! {
    RuntimeJobId = "rtj_",
    RuntimeLeaseId = "rtl_",
    /// A runner, as the runtime door calls it.
    WorkerId = "wrk_",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Fixed(u8);
    impl Entropy for Fixed {
        fn fill(&self, bytes: &mut [u8]) {
            bytes.fill(self.0);
        }
    }

    #[test]
    fn the_seeds_example_round_trips() {
        let text = "rtj_01kkygkagq0jk17bx6y1w8c3df";
        assert_eq!(text.parse::<RuntimeJobId>().unwrap().to_string(), text);
    }

    #[test]
    fn ids_sort_by_time() {
        let early = RuntimeJobId::mint(Millis(5), &Fixed(0xff)).to_string();
        let late = RuntimeJobId::mint(Millis(6), &Fixed(0)).to_string();
        assert!(early < late);
        assert_eq!(early.len(), 30);
    }

    #[test]
    fn other_spellings_are_refused() {
        for bad in [
            "",
            "rtj_",
            "rtl_01kkygkagq0jk17bx6y1w8c3df",
            "rtj_01KKYGKAGQ0JK17BX6Y1W8C3DF",
            "rtj_01kkygkagq0jk17bx6y1w8c3d",
            "rtj_81kkygkagq0jk17bx6y1w8c3df",
            "rtj_01kkygkagq0jk17bx6y1w8c3dl",
        ] {
            assert!(bad.parse::<RuntimeJobId>().is_err(), "{bad}");
        }
    }
}
