//! Tables for people.

use std::fmt::Display;

use crate::failure::Failure;
use crate::terminal::Terminal;

/// Columns as wide as they must be, two spaces apart, under a line of names.
pub(super) fn print<const N: usize>(
    terminal: &Terminal,
    names: [&str; N],
    rows: &[[String; N]],
) -> Result<(), Failure> {
    for line in lines(names, rows) {
        terminal.data(&line)?;
    }
    Ok(())
}

/// One thing: a name and a value on each line.
pub(super) fn print_one(
    terminal: &Terminal,
    fields: &[(&str, &dyn Display)],
) -> Result<(), Failure> {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in fields {
        terminal.data(&format!("{name:<width$}  {value}"))?;
    }
    Ok(())
}

/// What is not there.
pub(super) fn or_dash<T: Display>(value: Option<&T>) -> String {
    value.map_or_else(|| "-".to_owned(), ToString::to_string)
}

fn lines<const N: usize>(names: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let mut all = vec![names.map(str::to_uppercase)];
    all.extend_from_slice(rows);
    let width = |column: usize| {
        let widths = all.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    all.iter()
        .map(|row| {
            let cells = row.iter().zip(&widths);
            let padded: Vec<String> = cells
                .map(|(cell, width)| format!("{cell:<width$}"))
                .collect();
            padded.join("  ").trim_end().to_owned()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [
            ["a".to_owned(), "x".to_owned()],
            ["longer".to_owned(), "y".to_owned()],
        ];
        assert_eq!(
            lines(["name", "b"], &rows),
            ["NAME    B", "a       x", "longer  y"]
        );
    }
}
