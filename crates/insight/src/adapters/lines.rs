//! The lines of a text, each with its number, and errors that point into them.

use crate::ParseError;
use crate::limits::MAX_REASON;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// From 1.
    pub(crate) number: usize,
    /// Without the end of the line.
    pub(crate) text: &'a str,
}

pub(crate) fn lines(text: &str) -> impl Iterator<Item = Line<'_>> + Clone {
    text.lines().enumerate().map(|(index, text)| Line {
        number: index + 1,
        text,
    })
}

/// Nothing in the text is a result: points at the first line that says anything.
pub(crate) fn nothing_found(text: &str, expected: &str) -> ParseError {
    match lines(text).find(|line| !line.text.trim().is_empty()) {
        Some(line) => line.expected(line.text, expected),
        None => ParseError::Empty,
    }
}

impl<'a> Line<'a> {
    /// An error at `part` of this line.
    pub(crate) fn error(&self, part: &str, reason: &(impl ToString + ?Sized)) -> ParseError {
        ParseError::Malformed {
            line: self.number,
            column: self.column(part),
            reason: reason.to_string().chars().take(MAX_REASON).collect(),
        }
    }

    /// An error at `part` of this line, where something else should be.
    pub(crate) fn expected(&self, part: &str, what: &str) -> ParseError {
        self.error(part, &format!("expected {what}, found {}", quote(part)))
    }

    /// The value, or an error at `part`.
    pub(crate) fn need<T>(
        &self,
        value: Option<T>,
        part: &str,
        what: &str,
    ) -> Result<T, ParseError> {
        value.ok_or_else(|| self.expected(part, what))
    }

    /// The words between white space.
    pub(crate) fn words(&self) -> impl Iterator<Item = &'a str> {
        self.text.split_whitespace()
    }

    fn column(&self, part: &str) -> usize {
        let offset = part.as_ptr().addr().wrapping_sub(self.text.as_ptr().addr());
        if offset <= self.text.len() {
            offset + 1
        } else {
            1
        }
    }
}

/// The beginning of a text, in quotes.
fn quote(text: &str) -> String {
    const QUOTED: usize = 60;
    if text.is_empty() {
        return "the end of the line".to_owned();
    }
    let start: String = text.chars().take(QUOTED).collect();
    let more = if start.len() < text.len() { " …" } else { "" };
    format!("{start:?}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_points_at_the_part_of_the_line() {
        let line = lines("one\ntwo three").last().unwrap();
        let error = line.expected(line.words().last().unwrap(), "four");
        assert_eq!(
            error.to_string(),
            r#"line 2, column 5: expected four, found "three""#
        );
    }

    #[test]
    fn a_part_from_elsewhere_points_at_the_start_of_the_line() {
        let line = lines("one").last().unwrap();
        let error = line.error(&String::from("elsewhere"), "no");
        assert_eq!(error.to_string(), "line 1, column 1: no");
    }

    #[test]
    fn nothing_found_points_at_the_first_line_that_says_anything() {
        assert_eq!(
            nothing_found("\n \nhello", "a result").to_string(),
            r#"line 3, column 1: expected a result, found "hello""#
        );
        assert_eq!(nothing_found(" \n", "a result"), ParseError::Empty);
    }

    #[test]
    fn long_lines_are_quoted_in_part() {
        let error = nothing_found(&"x".repeat(1000), "a result").to_string();
        assert!(error.len() < 130, "{error}");
        assert!(error.ends_with(" …"), "{error}");
    }
}
