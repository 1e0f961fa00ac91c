//! Benchmark.js: `NAME x N ops/sec ±P% (R runs sampled)`.

use super::lines::{Line, lines};
use super::number::{float, grouped};
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::THROUGHPUT;
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `NAME x 1,234 ops/sec ±1.23% (45 runs sampled)`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        let cut = line.text.split_once('±');
        let Some((before, after)) =
            cut.and_then(|(before, after)| Some((before.strip_suffix(" ops/sec ")?, after)))
        else {
            continue;
        };
        let (name, row) = read(&line, before, after)?;
        sheet.add(&line, name, row)?;
    }
    sheet.finish(EXPECTED)
}

fn read<'a>(line: &Line<'_>, before: &'a str, after: &str) -> Result<(&'a str, Row), ParseError> {
    let cut = before
        .rsplit_once(' ')
        .and_then(|(start, rate)| Some((start.strip_suffix(" x")?, rate)));
    let (name, rate) = line.need(cut, before, "`NAME x N`")?;
    let rate_number = line.need(grouped(rate), rate, "a finite number of operations")?;
    let percent = after
        .split_once('%')
        .and_then(|(percent, _)| float(percent));
    let percent = line.need(percent, after, "a margin like `1.23%`")?;
    let mut row = Row::default();
    let spread = rate_number * percent / 100.0;
    row.set(THROUGHPUT, rate_number, Bounds::around(rate_number, spread));
    Ok((name.trim(), row))
}

#[cfg(test)]
mod tests;
