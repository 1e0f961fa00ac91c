//! From a text to results, by the adapter that was asked for.

use std::fmt;
use std::str::FromStr;

use crate::adapters::ansi;
use crate::adapters::position::of_byte;
use crate::limits::MAX_TEXT_BYTES;
use crate::reader::{TRIED, reader};
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
    #[error("the output is empty")]
    Empty,
    #[error("the output is not UTF-8: byte {byte:#04x} at line {line}, column {column}")]
    NotUtf8 {
        byte: u8,
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
    },
    #[error("the text has {length} bytes, the limit is {MAX_TEXT_BYTES}")]
    TooLong { length: usize },
    #[error("the harness of the adapter {adapter} prints the {has}, and no other average")]
    OtherAverage { adapter: Adapter, has: Average },
    #[error("line {line}, column {column}: {reason}")]
    Malformed {
        /// From 1.
        line: usize,
        /// In bytes, from 1.
        column: usize,
        reason: String,
    },
    #[error("no adapter can read the text; {}", closest(.attempts))]
    Unrecognized { attempts: Vec<Attempt> },
}

/// What one adapter said when `magic` tried it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub adapter: Adapter,
    pub error: ParseError,
}

/// Reads one result text; `settings.fold` concerns [`read_all`](crate::read_all) only.
pub fn parse(adapter: Adapter, text: &str, settings: Settings) -> Result<Results, ParseError> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(ParseError::TooLong { length: text.len() });
    }
    if text.trim_ascii().is_empty() {
        return Err(ParseError::Empty);
    }
    let text = ansi::plain(text);
    match reader(adapter.normalized()) {
        Some(reader) => reader.read(adapter, &text, settings.average),
        None => magic(&text, settings),
    }
}

/// Reads output as it was written, which need not be text at all.
pub fn parse_bytes(
    adapter: Adapter,
    output: &[u8],
    settings: Settings,
) -> Result<Results, ParseError> {
    match std::str::from_utf8(output) {
        Ok(text) => parse(adapter, text, settings),
        Err(error) => {
            let start = error.valid_up_to();
            let (line, column) = of_byte(output, start);
            Err(ParseError::NotUtf8 {
                byte: output.get(start).copied().unwrap_or_default(),
                line,
                column,
            })
        }
    }
}

impl fmt::Display for Average {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Median => "median",
        })
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

fn magic(text: &str, settings: Settings) -> Result<Results, ParseError> {
    let mut attempts = Vec::new();
    for adapter in TRIED.iter().copied() {
        let Some(reader) = reader(adapter) else {
            continue;
        };
        match reader.read(adapter, text, settings.average) {
            Ok(results) => return Ok(results),
            Err(error) => attempts.push(Attempt { adapter, error }),
        }
    }
    Err(ParseError::Unrecognized { attempts })
}

/// The adapter that came furthest is the one that was meant, most of the time. All of them on the same line means that none knew
/// what to do with it.
fn closest(attempts: &[Attempt]) -> String {
    let position = |attempt: &&Attempt| {
        if let ParseError::Malformed { line, column, .. } = attempt.error {
            (line, column)
        } else {
            (0, 0)
        }
    };
    let first = attempts.iter().map(|attempt| position(&attempt)).min();
    match attempts.iter().rev().max_by_key(position) {
        Some(attempt) if Some(position(&attempt)) > first => {
            format!("the closest is {}: {}", attempt.adapter, attempt.error)
        }
        _ => {
            let names: Vec<&str> = attempts
                .iter()
                .map(|attempt| attempt.adapter.name())
                .collect();
            format!("tried {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BMF: &str = r#"{"adder": {"latency": {"value": 88.0}}}"#;

    fn error(adapter: Adapter, text: &str) -> String {
        parse(adapter, text, Settings::default())
            .unwrap_err()
            .to_string()
    }

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
    fn magic_says_what_it_tried() {
        let error = error(Adapter::Magic, "not bmf");
        assert!(
            error.starts_with("no adapter can read the text; tried json, c_sharp_dot_net, "),
            "{error}"
        );
    }

    #[test]
    fn magic_names_the_adapter_that_came_furthest() {
        assert_eq!(
            error(
                Adapter::Magic,
                "running 1 test\ntest fib ... bench: many ns/iter (+/- 1)"
            ),
            "no adapter can read the text; the closest is rust_bench: line 2, column 21: expected a number of nanoseconds, found \"many\""
        );
    }

    #[test]
    fn empty_output_is_called_empty_by_every_adapter() {
        for adapter in Adapter::ALL.iter().copied() {
            assert_eq!(error(adapter, " \n"), "the output is empty");
        }
    }

    #[test]
    fn output_that_is_not_utf8_is_pointed_at() {
        let error = parse_bytes(Adapter::Magic, b"ok\nno\xff", Settings::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the output is not UTF-8: byte 0xff at line 2, column 3"
        );
    }

    #[test]
    fn bytes_that_are_text_are_read() {
        let results = parse_bytes(Adapter::Magic, BMF.as_bytes(), Settings::default());
        assert_eq!(results, parse(Adapter::Json, BMF, Settings::default()));
    }

    #[test]
    fn an_average_that_the_harness_does_not_print_is_refused() {
        let settings = Settings {
            average: Some(Average::Median),
            ..Settings::default()
        };
        let text = "fib  time:   [1 ns 2 ns 3 ns]";
        let error = parse(Adapter::RustCriterion, text, settings).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the harness of the adapter rust_criterion prints the mean, and no other average"
        );
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
