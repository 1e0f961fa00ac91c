//! A report for a terminal.

use super::View;
use super::view::Line;

const NAMES: [&str; 6] = ["benchmark", "measure", "value", "change", "limits", "alert"];

/// What was measured, line by line, what it amounts to, and where it is. Columns that nothing stands in are left out.
pub(crate) fn text(view: &View) -> String {
    let facts = view.facts.iter();
    let facts: Vec<String> = facts
        .map(|(name, value)| format!("{} {value}", name.to_lowercase()))
        .collect();
    let mut lines = vec![format!("{}: {}", view.project, facts.join(", "))];
    if let Some(paired) = &view.paired {
        lines.push(String::new());
        let mut rows = paired.table();
        if let Some(names) = rows.first_mut() {
            *names = names.each_ref().map(|name| name.to_uppercase());
        }
        lines.extend(aligned(&rows));
    }
    if !view.lines.is_empty() {
        lines.push(String::new());
        lines.extend(table(&view.lines));
    }
    lines.push(String::new());
    lines.push(view.outcome.clone());
    lines.push(view.link.clone());
    lines.join("\n")
}

/// Columns as wide as they must be.
fn aligned(rows: &[[String; 6]]) -> Vec<String> {
    let width = |column: usize| {
        rows.iter()
            .map(move |row| row[column].chars().count())
            .max()
    };
    let widths: [usize; 6] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let line = |row: &[String; 6]| {
        let cells = row.iter().zip(widths);
        let padded: Vec<String> = cells
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn table(lines: &[Line]) -> Vec<String> {
    let rows: Vec<[&str; 6]> = lines.iter().map(cells).collect();
    let width = |column: usize| {
        rows.iter()
            .map(move |row| row[column].chars().count())
            .max()
    };
    let columns: Vec<(usize, usize)> = (0..NAMES.len())
        .filter_map(|column| {
            let widest = width(column).filter(|width| *width > 0)?;
            Some((column, widest.max(NAMES[column].len())))
        })
        .collect();
    let names = NAMES.map(str::to_uppercase);
    let names: [&str; 6] = std::array::from_fn(|column| names[column].as_str());
    std::iter::once(&names)
        .chain(&rows)
        .map(|row| {
            let padded: Vec<String> = columns
                .iter()
                .map(|(column, width)| padded(*column, row[*column], *width))
                .collect();
            padded.join("  ").trim_end().to_owned()
        })
        .collect()
}

/// Numbers stand at the right.
fn padded(column: usize, cell: &str, width: usize) -> String {
    if matches!(NAMES[column], "value" | "change") {
        format!("{cell:>width$}")
    } else {
        format!("{cell:<width$}")
    }
}

fn cells(line: &Line) -> [&str; 6] {
    [
        &line.benchmark,
        &line.measure,
        &line.value,
        &line.change,
        &line.limits,
        &line.alert,
    ]
}
