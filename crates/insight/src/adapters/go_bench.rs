//! `go test -bench`: `BenchmarkName-8 N VALUE UNIT VALUE UNIT …`. With `-count` each benchmark comes several times.

use std::borrow::Cow;

use super::lines::{Line, lines};
use super::number::float;
use super::repeats::Repeats;
use super::sheet::Sheet;
use super::unit::nanoseconds;
use crate::measure::{ALLOCATED, ALLOCATIONS, BANDWIDTH, LATENCY};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "a line like `BenchmarkName-8  1000  1234 ns/op`";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let mut runs = Repeats::default();
    for line in lines(text) {
        let mut words = line.words();
        let Some(name) = words.next().filter(|word| is_benchmark(word)) else {
            continue;
        };
        // A benchmark that logs has its name on a line of its own, and again before its numbers.
        let Some(iterations) = words.next() else {
            continue;
        };
        if iterations.parse::<u64>().is_err() {
            continue;
        }
        read(&line, words, |measure, value| {
            runs.push(name, measure, value);
        })?;
    }
    let mut sheet = Sheet::new(text);
    runs.write(average, |name, row| sheet.add_named(name, row))?;
    sheet.finish(EXPECTED)
}

fn is_benchmark(word: &str) -> bool {
    word.strip_prefix("Benchmark")
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_lowercase()))
}

fn read<'a>(
    line: &Line<'a>,
    mut words: impl Iterator<Item = &'a str>,
    mut push: impl FnMut(Cow<'static, str>, f64),
) -> Result<(), ParseError> {
    let mut is_empty = true;
    while let Some(value) = words.next() {
        let number = line.need(float(value), value, "a finite number")?;
        let unit = line.need(words.next(), &line.text[line.text.len()..], "a unit")?;
        let (measure, factor) = measure(unit);
        push(measure, number * factor);
        is_empty = false;
    }
    if is_empty {
        return Err(line.expected(&line.text[line.text.len()..], "a number and its unit"));
    }
    Ok(())
}

/// Units that the author of a benchmark made up are measures by themselves.
fn measure(unit: &str) -> (Cow<'static, str>, f64) {
    match unit {
        "B/op" => (ALLOCATED.into(), 1.0),
        "allocs/op" => (ALLOCATIONS.into(), 1.0),
        "MB/s" => (BANDWIDTH.into(), 1e6),
        unit => match unit.strip_suffix("/op").and_then(nanoseconds) {
            Some(factor) => (LATENCY.into(), factor),
            None => (unit.to_owned().into(), 1.0),
        },
    }
}

#[cfg(test)]
mod tests;
