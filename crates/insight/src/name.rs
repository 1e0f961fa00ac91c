//! The names of benchmarks and measures, checked where they enter.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use kiln_model::{InvalidName, ResourceName};
use serde::Serialize;

use crate::limits::MAX_BENCHMARK_NAME;

/// 1 to 1024 characters that can be stored and printed as they are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct BenchmarkName(String);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBenchmarkName {
    #[error("a benchmark name is empty")]
    Empty,
    #[error(
        "the benchmark name that starts {start:?} has {length} characters, the limit is {MAX_BENCHMARK_NAME}"
    )]
    TooLong { start: String, length: usize },
    #[error("the benchmark name {name:?} holds the control character {character:?}")]
    Control { name: String, character: char },
    #[error("the benchmark name {name:?} holds U+FFFD: the output was not UTF-8")]
    NotUtf8 { name: String },
}

impl BenchmarkName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for BenchmarkName {
    type Err = InvalidBenchmarkName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.to_owned().try_into()
    }
}

impl TryFrom<String> for BenchmarkName {
    type Error = InvalidBenchmarkName;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        if name.is_empty() {
            return Err(InvalidBenchmarkName::Empty);
        }
        // A name cannot have more characters than bytes, and hardly any has that many.
        let length = if name.len() > MAX_BENCHMARK_NAME {
            name.chars().count()
        } else {
            name.len()
        };
        if length > MAX_BENCHMARK_NAME {
            let start = name.chars().take(QUOTED).collect();
            return Err(InvalidBenchmarkName::TooLong { start, length });
        }
        let is_plain = name.bytes().all(|b| matches!(b, b' '..=b'~'));
        if !is_plain && let Some(character) = name.chars().find(|c| misleads(*c)) {
            let name = name.chars().take(QUOTED).collect();
            return Err(match character {
                char::REPLACEMENT_CHARACTER => InvalidBenchmarkName::NotUtf8 { name },
                character => InvalidBenchmarkName::Control { name, character },
            });
        }
        Ok(Self(name))
    }
}

impl Borrow<str> for BenchmarkName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BenchmarkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidMeasureName {
    #[error(transparent)]
    Name(#[from] InvalidName),
    #[error("the measure name {name:?} holds U+FFFD: the output was not UTF-8")]
    NotUtf8 { name: String },
}

/// The name of a measure is that of any resource. But what stands for a broken character comes from output, never from a person.
pub(crate) fn measure_name(text: &str) -> Result<ResourceName, InvalidMeasureName> {
    let name: ResourceName = text.parse()?;
    if text.contains(char::REPLACEMENT_CHARACTER) {
        let name = name.into();
        return Err(InvalidMeasureName::NotUtf8 { name });
    }
    Ok(name)
}

/// How much of a refused name an error quotes, in characters.
const QUOTED: usize = 40;

/// Control characters move a terminal's cursor, and NUL cannot be stored by `PostgreSQL`; bidirectional marks make a name read
/// differently from what it is; and what stands for a broken character could have been any.
fn misleads(c: char) -> bool {
    c.is_control()
        || c == char::REPLACEMENT_CHARACTER
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_real_harnesses_are_accepted() {
        for name in [
            "adder",
            "tests::adder <u64> / 2",
            "Größe ✓",
            &"é".repeat(1024),
        ] {
            assert_eq!(name.parse::<BenchmarkName>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn an_empty_name_is_refused() {
        assert_eq!(
            "".parse::<BenchmarkName>(),
            Err(InvalidBenchmarkName::Empty)
        );
    }

    #[test]
    fn a_name_over_the_limit_is_refused_and_quoted_in_part() {
        let error = "é".repeat(1025).parse::<BenchmarkName>().unwrap_err();
        let start = "é".repeat(40);
        assert_eq!(
            error,
            InvalidBenchmarkName::TooLong {
                start,
                length: 1025
            }
        );
    }

    #[test]
    fn a_name_that_was_not_utf8_is_refused() {
        let error = "f\u{fffd}b".parse::<BenchmarkName>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the benchmark name \"f\u{fffd}b\" holds U+FFFD: the output was not UTF-8"
        );
    }

    #[test]
    fn a_measure_that_was_not_utf8_or_would_mislead_is_refused() {
        assert_eq!(
            measure_name("l\u{fffd}tency").unwrap_err().to_string(),
            "the measure name \"l\u{fffd}tency\" holds U+FFFD: the output was not UTF-8"
        );
        for name in ["a\0b", "\u{1b}[31mred", "a\nb", "a\u{202e}b", ""] {
            let error = measure_name(name).unwrap_err();
            assert!(matches!(error, InvalidMeasureName::Name(_)), "{name:?}");
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
        assert_eq!(measure_name("Größe (B)").unwrap().as_str(), "Größe (B)");
    }

    #[test]
    fn a_name_that_would_mislead_a_reader_is_refused() {
        for name in ["a\0b", "\u{1b}[31mred", "a\nb", "a\u{202e}b"] {
            let error = name.parse::<BenchmarkName>().unwrap_err();
            assert!(
                matches!(error, InvalidBenchmarkName::Control { .. }),
                "{name:?}"
            );
            assert!(!error.to_string().contains('\u{1b}'), "{error}");
        }
    }
}
