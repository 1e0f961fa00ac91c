//! libtest's benchmarks: `test NAME ... bench: N ns/iter (+/- V) = R MB/s`.

use super::lines::{Line, lines};
use super::number::grouped;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::{BANDWIDTH, LATENCY};
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `test NAME ... bench: 1,234 ns/iter (+/- 56)`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        let Some((name, result)) = cut(&line) else {
            continue;
        };
        let row = row(&line, result)?;
        sheet.add(&line, name, row)?;
    }
    sheet.finish(EXPECTED)
}

fn cut<'a>(line: &Line<'a>) -> Option<(&'a str, &'a str)> {
    let rest = line.text.trim_start().strip_prefix("test ")?;
    let (name, result) = rest.split_once(" ... bench:")?;
    Some((name.trim(), result))
}

fn row(line: &Line<'_>, result: &str) -> Result<Row, ParseError> {
    let mut words = result.split_ascii_whitespace();
    let value = words.next().unwrap_or_default();
    let latency = line.need(grouped(value), value, "a number of nanoseconds")?;
    let unit = words.next().unwrap_or_default();
    let factor = unit.strip_suffix("/iter").and_then(nanoseconds);
    let factor = line.need(factor, unit, "`ns/iter`")?;
    let (sign, spread) = (words.next(), words.next().unwrap_or_default());
    let deviation = spread
        .strip_suffix(')')
        .filter(|_| sign == Some("(+/-"))
        .and_then(grouped);
    let deviation = line.need(deviation, spread, "a deviation like `(+/- 56)`")?;
    let mut row = Row::default();
    let latency = latency * factor;
    row.set(
        LATENCY,
        latency,
        Bounds::around(latency, deviation * factor),
    );
    if words.next() == Some("=") {
        let rate = words.next().unwrap_or_default();
        let megabytes = grouped(rate).filter(|_| words.next() == Some("MB/s"));
        let megabytes = line.need(megabytes, rate, "a rate in `MB/s`")?;
        row.set(BANDWIDTH, megabytes * 1e6, Bounds::NONE);
    }
    Ok(row)
}

#[cfg(test)]
mod tests;
