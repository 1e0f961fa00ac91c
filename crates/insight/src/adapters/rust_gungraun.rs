//! Gungraun: its text, its summaries in JSON (one per line, pretty, or between lines of text), or both.

mod counter;
mod summary;
mod text;

use super::sheet::Sheet;
use crate::{ParseError, Results};

const EXPECTED_TEXT: &str =
    "the name of a benchmark and counters like `Instructions:  1234|N/A` below it";
const EXPECTED_JSON: &str = "a summary in JSON, which begins with `{`";

/// Text and summaries, in any mixture.
pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    text::read(text, &mut sheet)?;
    summary::read(text, &mut sheet)?;
    sheet.finish(EXPECTED_TEXT)
}

pub(crate) fn parse_stdout(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    text::read(text, &mut sheet)?;
    sheet.finish(EXPECTED_TEXT)
}

pub(crate) fn parse_json(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    summary::read(text, &mut sheet)?;
    sheet.finish(EXPECTED_JSON)
}

#[cfg(test)]
mod tests;
