//! Colours and cursor moves that a harness wrote for a terminal.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';

/// The text without escape sequences; the same text when there are none.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(ESCAPE) {
        plain.push_str(before);
        rest = skip_sequence(after);
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// What follows one sequence: a control sequence ends with a byte from `@` to `~`, every other is one character long. One that
/// does not end on its line is cut there, so that it cannot hide what follows.
fn skip_sequence(after: &str) -> &str {
    let Some(parameters) = after.strip_prefix('[') else {
        let mut characters = after.chars();
        return match characters.next() {
            Some('\n') | None => after,
            Some(_) => characters.as_str(),
        };
    };
    let end = parameters.find(|c: char| matches!(c, '@'..='~' | '\n'));
    match end {
        Some(end) if parameters[end..].starts_with('\n') => &parameters[end..],
        Some(end) => &parameters[end + 1..],
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_sequences_is_not_copied() {
        assert!(matches!(plain("a [0m b"), Cow::Borrowed(_)));
    }

    #[test]
    fn colours_are_taken_out() {
        let text = "x \u{1b}[34m\u{1b}[1m858,060 ops/sec\u{1b}[22m\u{1b}[39m (10 runs)";
        assert_eq!(plain(text), "x 858,060 ops/sec (10 runs)");
    }

    #[test]
    fn an_unfinished_sequence_hides_nothing_of_the_next_line() {
        assert_eq!(plain("a\u{1b}[31\nb\u{1b}"), "a\nb");
        assert_eq!(plain("a\u{1b}\nb"), "a\nb");
        assert_eq!(plain("a\u{1b}[12"), "a");
        assert_eq!(plain("a\u{1b}éb"), "ab");
    }
}
