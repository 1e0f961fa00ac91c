//! From a text to results, by the adapter that was asked for.

use std::str::FromStr;

use crate::adapters::json;
use crate::limits::MAX_TEXT_BYTES;
use crate::{Adapter, Fold, Results};

/// How a text is read. Both have a meaning of their own for each harness when they are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Which statistic to take from harnesses that print more than one.
    pub average: Option<Average>,
    /// How the results of several iterations become one; without it each stays for itself.
    pub fold: Option<Fold>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    Mean,
    Median,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no average {name:?}: it is mean or median")]
pub struct UnknownAverage {
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error(
        "the adapter {adapter} is not built yet; until it is, print Bencher Metric Format and use json"
    )]
    NotBuilt { adapter: Adapter },
    #[error("the text has {length} bytes, the limit is {MAX_TEXT_BYTES}")]
    TooLong { length: usize },
    #[error("line {line}, column {column}: {reason}")]
    Malformed {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        reason: String,
    },
    #[error("no adapter can read the text ({})", list(.attempts))]
    Unrecognized { attempts: Vec<Attempt> },
}

/// What one adapter said when `magic` tried it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub adapter: Adapter,
    pub error: ParseError,
}

/// Reads one result text. The adapters that are built have no choice of statistics and take any `average`; `fold` concerns
/// [`read_all`](crate::read_all) only.
pub fn parse(adapter: Adapter, text: &str, _settings: Settings) -> Result<Results, ParseError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(ParseError::TooLong { length: text.len() });
    }
    let adapter = adapter.normalized();
    if adapter == Adapter::Magic {
        magic(text)
    } else {
        read(adapter, text)
    }
}

impl FromStr for Average {
    type Err = UnknownAverage;

    fn from_str(name: &str) -> Result<Self, UnknownAverage> {
        match name {
            "mean" => Ok(Self::Mean),
            "median" => Ok(Self::Median),
            _ => Err(UnknownAverage {
                name: name.chars().take(64).collect(),
            }),
        }
    }
}

/// What `magic` tries, in this order.
const BUILT: [Adapter; 1] = [Adapter::Json];

fn magic(text: &str) -> Result<Results, ParseError> {
    let mut attempts = Vec::new();
    for adapter in BUILT {
        match read(adapter, text) {
            Ok(results) => return Ok(results),
            Err(error) => attempts.push(Attempt { adapter, error }),
        }
    }
    Err(ParseError::Unrecognized { attempts })
}

fn read(adapter: Adapter, text: &str) -> Result<Results, ParseError> {
    if adapter == Adapter::Json {
        json::parse(text)
    } else {
        Err(ParseError::NotBuilt { adapter })
    }
}

fn list(attempts: &[Attempt]) -> String {
    let lines: Vec<String> = attempts
        .iter()
        .map(|Attempt { adapter, error }| format!("{adapter}: {error}"))
        .collect();
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BMF: &str = r#"{"adder": {"latency": {"value": 88.0}}}"#;

    #[test]
    fn magic_and_languages_read_what_json_reads() {
        let expected = parse(Adapter::Json, BMF, Settings::default()).unwrap();
        for adapter in [Adapter::Magic, Adapter::Rust, Adapter::Python] {
            assert_eq!(
                parse(adapter, BMF, Settings::default()).as_ref(),
                Ok(&expected)
            );
        }
    }

    #[test]
    fn magic_says_what_each_adapter_said() {
        let error = parse(Adapter::Magic, "not bmf", Settings::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "no adapter can read the text (json: line 1, column 1: expected `{`, the start of an object of benchmarks, found 'n')"
        );
    }

    #[test]
    fn an_adapter_that_is_not_built_says_so() {
        for adapter in Adapter::ALL.iter().copied() {
            let built = matches!(adapter.normalized(), Adapter::Json | Adapter::Magic);
            let result = parse(adapter, BMF, Settings::default());
            let expected = Err(ParseError::NotBuilt { adapter });
            assert_eq!(result.is_ok(), built, "{adapter}");
            assert_eq!(result == expected, !built, "{adapter}");
        }
    }

    #[test]
    fn a_text_over_the_limit_is_refused() {
        let text = " ".repeat(MAX_TEXT_BYTES + 1);
        let length = text.len();
        assert_eq!(
            parse(Adapter::Json, &text, Settings::default()),
            Err(ParseError::TooLong { length })
        );
    }
}
