//! criterion's text: `NAME time: [LOWER MEAN UPPER]`, with the name on a line of its own when it is long, and `thrpt:` below.

use super::lines::{Line, lines};
use super::number::float;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::{bytes, nanoseconds, prefix};
use crate::measure::{BANDWIDTH, ITEMS_PER_SECOND, LATENCY};
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `NAME  time:   [1.2 ns 1.3 ns 1.4 ns]`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    let mut line_before = "";
    // The throughput of a benchmark comes after its time.
    let mut last_name = None;
    for line in lines(text) {
        if is_change(line.text) {
            continue;
        }
        if let Some((before, interval)) = line.text.split_once("time:   [") {
            let name = name(&line, before, line_before)?;
            let row = time(&line, interval)?;
            sheet.add(&line, name, row)?;
            last_name = Some(name);
        } else if let Some((before, interval)) = line.text.split_once("thrpt:  [")
            && before.trim().is_empty()
            && let Some(name) = last_name.take()
        {
            let row = throughput(&line, interval)?;
            sheet.add(&line, name, row)?;
        }
        line_before = line.text;
    }
    sheet.finish(EXPECTED)
}

/// How a number differs from that of the last run is no number of this one.
fn is_change(line: &str) -> bool {
    let interval = line
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    interval.is_some_and(|(inside, _)| inside.ends_with('%'))
}

fn name<'a>(line: &Line<'a>, before: &'a str, line_before: &'a str) -> Result<&'a str, ParseError> {
    let name = match before.trim() {
        "" => line_before.trim(),
        name => name,
    };
    // Progress that was written over itself on a terminal ends up on the same line.
    let name = name.rsplit('\r').next().unwrap_or(name);
    if name.is_empty() {
        return Err(line.expected(
            line.text,
            "the name of the benchmark on this line or the one above",
        ));
    }
    Ok(name)
}

fn time(line: &Line<'_>, interval: &str) -> Result<Row, ParseError> {
    let [lower, mean, upper] = three(line, interval, nanoseconds, "a time like `1.2 ns`")?;
    let mut row = Row::default();
    row.set(LATENCY, mean, Bounds::between(lower, upper));
    Ok(row)
}

fn throughput(line: &Line<'_>, interval: &str) -> Result<Row, ParseError> {
    let counts_elements = interval.contains("elem/s");
    let (measure, unit): (_, fn(&str) -> Option<f64>) = if counts_elements {
        (ITEMS_PER_SECOND, |unit| {
            prefix(unit.strip_suffix("elem/s")?)
        })
    } else {
        (BANDWIDTH, |unit| match unit.strip_suffix("/s")? {
            "b" => Some(1.0 / 8.0),
            unit => bytes(unit),
        })
    };
    let [lower, mean, upper] = three(line, interval, unit, "a rate like `1.2 MiB/s`")?;
    let mut row = Row::default();
    row.set(measure, mean, Bounds::between(lower, upper));
    Ok(row)
}

fn three(
    line: &Line<'_>,
    interval: &str,
    unit: fn(&str) -> Option<f64>,
    expected: &str,
) -> Result<[f64; 3], ParseError> {
    let inside = line
        .need(interval.split_once(']'), interval, "a closing `]`")?
        .0;
    let mut words = inside.split_ascii_whitespace();
    let mut numbers = [0.0; 3];
    for number in &mut numbers {
        let value = words.next().unwrap_or_default();
        let factor = words.next().and_then(unit);
        let pair = float(value).zip(factor);
        let (value, factor) = line.need(pair, value, expected)?;
        *number = value * factor;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests;
