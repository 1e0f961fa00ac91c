//! Iai's text: the name of a benchmark, and five counters below it.

use super::lines::{Line, lines};
use super::number::grouped;
use super::sheet::{Bounds, Row, Sheet};
use crate::{ParseError, Results};

const EXPECTED: &str = "the name of a benchmark and `Instructions:` below it";

const COUNTERS: [(&str, &str); 5] = [
    ("Instructions:", "instructions"),
    ("L1 Accesses:", "l1-accesses"),
    ("L2 Accesses:", "l2-accesses"),
    ("RAM Accesses:", "ram-accesses"),
    ("Estimated Cycles:", "estimated-cycles"),
];

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut name = "";
    let mut lines = lines(text);
    while let Some(line) = lines.next() {
        if !line.text.trim_start().starts_with(COUNTERS[0].0) {
            name = line.text.trim();
            continue;
        }
        let mut row = Row::default();
        let mut counted = line;
        for (index, (title, measure)) in COUNTERS.into_iter().enumerate() {
            if index > 0 {
                counted = lines
                    .next()
                    .ok_or_else(|| counted.expected("", &format!("`{title}` on the next line")))?;
            }
            row.set(measure, counter(&counted, title)?, Bounds::NONE);
        }
        sheet.add(&line, name, row)?;
    }
    sheet.finish(EXPECTED)
}

/// The number behind a title; a change in parentheses may follow.
fn counter(line: &Line<'_>, title: &str) -> Result<f64, ParseError> {
    let text = line.text.trim_start();
    let expected = format!("`{title}` and a number");
    let rest = line.need(text.strip_prefix(title), text, &expected)?;
    let word = rest.split_ascii_whitespace().next().unwrap_or(rest);
    line.need(grouped(word), word, &expected)
}

#[cfg(test)]
mod tests;
