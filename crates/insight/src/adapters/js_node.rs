//! What the Node.js project measures with: bench-node (`NAME x N ops/sec (R runs sampled) min..max=(A...B)`), and the benchmarks of
//! Node.js itself (`file.js key=value …: N`, in operations per second).

use super::lines::{Line, lines};
use super::number::{grouped, with_suffix};
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::{LATENCY, MAX_LATENCY, MIN_LATENCY, THROUGHPUT};
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `NAME x 1,234 ops/sec (10 runs sampled) min..max=(1.2us...3.4us)` or `file.js n=1: 1,234.5`";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        if line.text.ends_with(')')
            && let Some((before, range)) = line.text.split_once("min..max=(")
        {
            let (name, row) = of_package(&line, before, range)?;
            sheet.add(&line, name, row)?;
        } else if let Some((name, rate)) = of_core(line.text) {
            let mut row = Row::default();
            row.set(THROUGHPUT, rate, Bounds::NONE);
            sheet.add(&line, name, row)?;
        }
    }
    sheet.finish(EXPECTED)
}

fn of_package<'a>(
    line: &Line<'_>,
    before: &'a str,
    range: &str,
) -> Result<(&'a str, Row), ParseError> {
    let cut = before
        .split_once(" (")
        .and_then(|(start, _)| start.rsplit_once(" x "));
    let (name, result) = line.need(cut, before, "`NAME x N ops/sec`")?;
    let mut row = Row::default();
    let rate = result.strip_suffix(" ops/sec").and_then(grouped);
    let total = result.strip_suffix(" total time").and_then(time);
    match (rate, total) {
        (Some(rate), _) => row.set(THROUGHPUT, rate, Bounds::NONE),
        (None, Some(total)) => row.set(LATENCY, total, Bounds::NONE),
        (None, None) => return Err(line.expected(result, "`N ops/sec`")),
    }
    let ends = range
        .split_once(')')
        .and_then(|(inside, _)| inside.split_once("..."));
    let ends = ends.and_then(|(lowest, highest)| time(lowest).zip(time(highest)));
    let (lowest, highest) = line.need(ends, range, "a range like `1.2us...3.4us)`")?;
    row.set(MIN_LATENCY, lowest, Bounds::NONE);
    row.set(MAX_LATENCY, highest, Bounds::NONE);
    Ok((name.trim(), row))
}

fn time(text: &str) -> Option<f64> {
    let (value, unit) = with_suffix(text)?;
    Some(value * nanoseconds(unit)?)
}

/// The configuration belongs to the name: the same file is run with many.
fn of_core(line: &str) -> Option<(&str, f64)> {
    let (name, rate) = line.rsplit_once(':')?;
    let rate = rate.strip_prefix(' ')?;
    let file = name.split_ascii_whitespace().next()?;
    let is_file = [".js", ".mjs", ".cjs"]
        .iter()
        .any(|end| file.ends_with(end));
    let rate = grouped(rate.trim()).filter(|_| is_file)?;
    Some((name.trim(), rate))
}

#[cfg(test)]
mod tests;
