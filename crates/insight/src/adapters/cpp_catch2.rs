//! Catch2's benchmarks: the table of its console reporter, or its XML.

mod console;
mod document;

use super::sheet::{Bounds, Row};
use crate::measure::LATENCY;
use crate::{ParseError, Results};

const EXPECTED: &str =
    "a table with the head `benchmark name  samples  iterations  estimated`, or <BenchmarkResults>";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    if text.trim_start().starts_with('<') {
        document::parse(text)
    } else {
        console::parse(text)
    }
}

/// Times in nanoseconds, with the ends of their confidence intervals.
struct Estimates {
    mean: [f64; 3],
    deviation: [f64; 3],
}

impl Estimates {
    fn row(&self) -> Row {
        let mut row = Row::default();
        let [mean, lower, upper] = self.mean;
        row.set(LATENCY, mean, Bounds::between(lower, upper));
        let [deviation, lower, upper] = self.deviation;
        row.set(
            "standard-deviation-latency",
            deviation,
            Bounds::between(lower, upper),
        );
        row
    }
}

#[cfg(test)]
mod tests;
