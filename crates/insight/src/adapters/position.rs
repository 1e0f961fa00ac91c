//! Where in a text something stands.

/// Line and column, both from 1, of a byte.
pub(crate) fn of_byte(text: impl AsRef<[u8]>, byte: usize) -> (usize, usize) {
    let text = text.as_ref();
    let before = &text[..byte.min(text.len())];
    let lines = before.split(|b| *b == b'\n');
    let last = lines.clone().next_back().unwrap_or_default();
    (lines.count(), last.len() + 1)
}

/// The last mention of a name in a document, in quotes if possible, as far as it is written there literally; the start of the text
/// otherwise.
pub(crate) fn of_name(text: &str, name: &str) -> (usize, usize) {
    let quoted = text.rfind(&format!("\"{name}\"")).map(|quote| quote + 1);
    let byte = quoted.or_else(|| text.rfind(name).filter(|_| !name.is_empty()));
    byte.map_or((1, 1), |byte| of_byte(text, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_count_from_one() {
        assert_eq!(of_byte("", 0), (1, 1));
        assert_eq!(of_byte("ab\ncd", 4), (2, 2));
        assert_eq!(of_byte("ab\ncd", 99), (2, 3));
    }

    #[test]
    fn the_last_mention_counts() {
        assert_eq!(of_name("fib\n fib", "fib"), (2, 2));
        assert_eq!(of_name("\"fib\" fib", "fib"), (1, 2));
        assert_eq!(of_name("fib", "sort"), (1, 1));
        assert_eq!(of_name("fib", ""), (1, 1));
    }
}
