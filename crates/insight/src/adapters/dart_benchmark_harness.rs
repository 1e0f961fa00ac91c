//! Dart's `benchmark_harness`: `NAME(RunTime): 123.4 us.`

use super::lines::{Line, lines};
use super::number::float;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::LATENCY;
use crate::{ParseError, Results};

const EXPECTED: &str = "a line like `NAME(RunTime): 123.4 us.`";

/// What stands in parentheses, and what it measures.
const KINDS: [(&str, &str); 2] = [("(RunTime): ", LATENCY), ("(RunTimeRaw): ", "raw-latency")];

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let mut sheet = Sheet::new(text);
    for line in lines(text) {
        let Some((name, measure, time)) = cut(&line) else {
            continue;
        };
        let mut row = Row::default();
        row.set(measure, latency(&line, time)?, Bounds::NONE);
        sheet.add(&line, name, row)?;
    }
    sheet.finish(EXPECTED)
}

/// The name, what was measured, and the rest of the line. Most lines have no parenthesis, which is found faster than a word.
fn cut<'a>(line: &Line<'a>) -> Option<(&'a str, &'static str, &'a str)> {
    line.text.match_indices('(').find_map(|(at, _)| {
        let (name, rest) = line.text.split_at(at);
        let kind =
            |(kind, measure): (&str, &'static str)| Some((measure, rest.strip_prefix(kind)?));
        let (measure, time) = KINDS.into_iter().find_map(kind)?;
        Some((name.trim(), measure, time))
    })
}

fn latency(line: &Line<'_>, time: &str) -> Result<f64, ParseError> {
    let pair = time.trim_end().trim_end_matches('.').split_once(' ');
    let pair = pair.and_then(|(value, unit)| float(value).zip(nanoseconds(unit)));
    let (value, factor) = line.need(pair, time, "a time like `123.4 us.`")?;
    Ok(value * factor)
}

#[cfg(test)]
mod tests;
