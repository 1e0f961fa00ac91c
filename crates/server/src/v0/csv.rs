//! Comma-separated values that a spreadsheet reads and does not run.

use std::fmt::Write as _;

pub(super) enum Cell<'a> {
    Text(&'a str),
    Count(i64),
    Number(Option<f64>),
}

pub(super) fn row<'a>(cells: impl IntoIterator<Item = Cell<'a>>) -> String {
    let mut line = String::new();
    for (place, cell) in cells.into_iter().enumerate() {
        if place > 0 {
            line.push(',');
        }
        let written = match cell {
            Cell::Text(text) => {
                quote(&mut line, text);
                Ok(())
            }
            Cell::Count(count) => write!(line, "{count}"),
            Cell::Number(Some(number)) => write!(line, "{number}"),
            Cell::Number(None) => Ok(()),
        };
        written.expect("a string takes everything");
    }
    line.push_str("\r\n");
    line
}

/// A text that begins like a formula gets an apostrophe, which spreadsheets hide.
fn quote(line: &mut String, text: &str) {
    let formula = text.starts_with(['=', '+', '-', '@']);
    if !formula && !text.contains([',', '"', '\r', '\n']) {
        line.push_str(text);
        return;
    }
    line.push('"');
    if formula {
        line.push('\'');
    }
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(
            row([Cell::Text(text), Cell::Count(1)]),
            format!("{expected},1\r\n")
        );
    }

    #[test]
    fn texts_are_quoted_where_they_must_be() {
        check("plain text", "plain text");
        check("a,b", "\"a,b\"");
        check("say \"hi\"", "\"say \"\"hi\"\"\"");
    }

    #[test]
    fn a_formula_is_not_run() {
        check("=HYPERLINK(1)", "\"'=HYPERLINK(1)\"");
        check("-1", "\"'-1\"");
    }

    #[test]
    fn numbers_are_written_to_the_last_digit() {
        let line = row([
            Cell::Number(Some(0.1)),
            Cell::Number(None),
            Cell::Number(Some(-2.5)),
        ]);
        assert_eq!(line, "0.1,,-2.5\r\n");
    }
}
