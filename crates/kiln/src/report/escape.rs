//! Names come from anywhere: in a page they are text and nothing else.

use std::fmt::Write as _;

/// For HTML, in text and in quoted attributes.
pub(super) fn html(text: &str) -> String {
    encoded(text, |c| matches!(c, '&' | '<' | '>' | '"' | '\''))
}

/// For Markdown, as code, in which nobody is mentioned and nothing is linked. Whatever could end the code, or the cell of a
/// table, is written by its number.
pub(super) fn code(text: &str) -> String {
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    let mut escaped = String::new();
    while let Some(c) = rest.next() {
        let inside_a_word =
            before.is_alphanumeric() && rest.peek().is_some_and(|c| c.is_alphanumeric());
        let plain = c.is_alphanumeric()
            || matches!(
                c,
                ' ' | '-' | '.' | '/' | ',' | '=' | '(' | ')' | '+' | ':' | '%' | '…'
            )
            || (c == '_' && inside_a_word);
        push(&mut escaped, c, !plain);
        before = c;
    }
    format!("<code>{escaped}</code>")
}

fn encoded(text: &str, special: impl Fn(char) -> bool) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        push(&mut escaped, c, special(c));
    }
    escaped
}

/// What controls a terminal or the direction of text is not printed at all.
fn push(text: &mut String, c: char, special: bool) {
    let is_bidi =
        matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}');
    if c.is_control() || is_bidi {
        text.push('\u{fffd}');
    } else if special {
        write!(text, "&#{};", u32::from(c)).expect("a string takes everything");
    } else {
        text.push(c);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_in_a_name_stays_text() {
        assert_eq!(html("<b>&\"'\n"), "&#60;b&#62;&#38;&#34;&#39;\u{fffd}");
        assert_eq!(
            code("a|b</code>`@me`"),
            "<code>a&#124;b&#60;/code&#62;&#96;&#64;me&#96;</code>"
        );
    }

    #[test]
    fn ordinary_names_stay_readable() {
        assert_eq!(
            code("sort_10k/small (ns)"),
            "<code>sort_10k/small (ns)</code>"
        );
        assert_eq!(code("_emphasis_"), "<code>&#95;emphasis&#95;</code>");
    }
}
