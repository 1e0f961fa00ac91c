//! pytest-benchmark's `--benchmark-json`.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::{LATENCY, MAX_LATENCY, MIN_LATENCY, THROUGHPUT};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `benchmarks`, and benchmarks in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let report: Report = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for benchmark in report.benchmarks {
        sheet.add_named(&benchmark.fullname, benchmark.row(average))?;
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
struct Benchmark {
    fullname: String,
    stats: Stats,
    /// What the author of the benchmark wanted to know besides.
    #[serde(default)]
    extra_info: BTreeMap<String, Value>,
}

/// Times are in seconds.
#[derive(Deserialize)]
struct Stats {
    min: f64,
    max: f64,
    mean: f64,
    stddev: f64,
    median: f64,
    iqr: f64,
    ops: Option<f64>,
}

const NANOSECONDS: f64 = 1e9;

impl Benchmark {
    fn row(&self, average: Average) -> Row {
        let stats = &self.stats;
        let (value, spread) = match average {
            Average::Mean => (stats.mean, stats.stddev),
            Average::Median => (stats.median, stats.iqr),
        };
        let (value, spread) = (value * NANOSECONDS, spread * NANOSECONDS);
        let mut row = Row::default();
        row.set(LATENCY, value, Bounds::around(value, spread));
        row.set(MIN_LATENCY, stats.min * NANOSECONDS, Bounds::NONE);
        row.set(MAX_LATENCY, stats.max * NANOSECONDS, Bounds::NONE);
        row.set_if(THROUGHPUT, stats.ops);
        for (name, value) in &self.extra_info {
            row.set_if(name.clone(), value.as_f64());
        }
        row
    }
}

#[cfg(test)]
mod tests;
