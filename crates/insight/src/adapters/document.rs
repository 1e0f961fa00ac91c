//! Harnesses that write JSON.

use serde::de::DeserializeOwned;

use crate::ParseError;
use crate::limits::MAX_REASON;

use super::position::of_byte;

/// Reads a whole document. `expected` says what a document of this harness looks like.
pub(crate) fn read<T: DeserializeOwned>(text: &str, expected: &str) -> Result<T, ParseError> {
    expect_a_start(text, &['{', '['], expected)?;
    serde_json::from_str(text).map_err(|error| malformed(text, &error))
}

/// Most wrong inputs are not JSON at all; the parser's own words for them ("expected ident") help nobody.
pub(crate) fn expect_a_start(
    text: &str,
    starts: &[char],
    expected: &str,
) -> Result<(), ParseError> {
    let start = text.trim_ascii_start();
    let Some(first) = start.chars().next() else {
        return Err(ParseError::Empty);
    };
    if starts.contains(&first) {
        return Ok(());
    }
    let (line, column) = of_byte(text, text.len() - start.len());
    Err(ParseError::Malformed {
        line,
        column,
        reason: format!("expected {expected}, found {first:?}"),
    })
}

/// The parser's error, in our words.
pub(crate) fn malformed(text: &str, error: &serde_json::Error) -> ParseError {
    let Fault {
        line,
        column,
        reason,
    } = Fault::of(text, error);
    ParseError::Malformed {
        line,
        column,
        reason,
    }
}

/// Where a document is wrong, and why.
pub(crate) struct Fault {
    /// From 1.
    pub(crate) line: usize,
    /// In bytes, from 1.
    pub(crate) column: usize,
    pub(crate) reason: String,
}

impl Fault {
    /// Names the numbers that JSON does not have.
    pub(crate) fn of(text: &str, error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        let message = error.to_string();
        let position = format!(" at line {line} column {column}");
        let reason = message.strip_suffix(&position).unwrap_or(&message);
        let reason = match not_a_number(text, line, column) {
            Some(word) if error.is_syntax() => format!("expected a finite number, found `{word}`"),
            _ => reason.chars().take(MAX_REASON).collect(),
        };
        Self {
            line,
            column,
            reason,
        }
    }
}

/// The word for no number that stands at a position, as Python and JavaScript write them.
fn not_a_number(text: &str, line: usize, column: usize) -> Option<&'static str> {
    let line = text.lines().nth(line.checked_sub(1)?)?;
    // The parser stops on the first byte that is wrong, which may be within the word.
    let before = column.checked_sub(1)?.min(line.len());
    let start = line.as_bytes()[..before]
        .iter()
        .rposition(|b| !b.is_ascii_alphabetic() && *b != b'-')
        .map_or(0, |other| other + 1);
    let found = line.get(start..)?;
    ["NaN", "Infinity", "-Infinity"]
        .into_iter()
        .find(|word| found.starts_with(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        read::<Vec<f64>>(text, "`[`, a list of numbers")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn text_that_is_no_document_is_told_what_was_expected() {
        assert_eq!(
            error("\n hello"),
            "line 2, column 2: expected `[`, a list of numbers, found 'h'"
        );
        assert_eq!(error(" \n"), "the output is empty");
    }

    #[test]
    fn words_for_no_number_are_named() {
        assert_eq!(
            error("[1,\n NaN]"),
            "line 2, column 2: expected a finite number, found `NaN`"
        );
        assert!(error("[Infinity]").ends_with("expected a finite number, found `Infinity`"));
        assert!(error("[-Infinity]").ends_with("expected a finite number, found `-Infinity`"));
    }

    #[test]
    fn numbers_that_no_float_holds_are_refused() {
        assert_eq!(error("[1e999]"), "line 1, column 6: number out of range");
    }

    #[test]
    fn deep_nesting_is_refused() {
        let error = serde_json::from_str::<serde_json::Value>(&"[".repeat(100_000)).unwrap_err();
        let text = malformed("", &error).to_string();
        assert_eq!(text, "line 1, column 128: recursion limit exceeded");
    }
}
