//! pyperf's JSON (`-o FILE`): the raw values of every run, of which the statistics are taken here.

use serde::Deserialize;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use super::statistics::{mean, median, median_absolute_deviation, standard_deviation};
use crate::measure::{LATENCY, PEAK_MEMORY};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `benchmarks`, and runs with values in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let suite: Suite = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for benchmark in &suite.benchmarks {
        if let Some(row) = benchmark.row(&suite.metadata, average) {
            let name = benchmark.metadata.name.as_ref();
            let name = name.or(suite.metadata.name.as_ref());
            sheet.add_named(name.map_or("<unnamed>", String::as_str), row)?;
        }
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Suite {
    benchmarks: Vec<Benchmark>,
    /// What all benchmarks have in common.
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Benchmark {
    #[serde(default)]
    metadata: Metadata,
    runs: Vec<Run>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    /// Seconds when nothing is said.
    unit: Option<String>,
    mem_max_rss: Option<f64>,
}

#[derive(Deserialize)]
struct Run {
    /// A run that only calibrates has none.
    #[serde(default)]
    values: Vec<f64>,
    #[serde(default)]
    metadata: Metadata,
}

impl Benchmark {
    fn row(&self, suite: &Metadata, average: Average) -> Option<Row> {
        let unit = self.metadata.unit.as_deref().or(suite.unit.as_deref());
        let (measure, factor) = match unit.unwrap_or("second") {
            "second" => (LATENCY, 1e9),
            "byte" => ("memory", 1.0),
            _ => ("value", 1.0),
        };
        let runs = self.runs.iter();
        let values: Vec<f64> = runs
            .flat_map(|run| run.values.iter().map(|value| value * factor))
            .collect();
        if values.is_empty() {
            return None;
        }
        let (value, spread) = match average {
            Average::Mean => (mean(&values), standard_deviation(&values)),
            Average::Median => (median(&values), Some(median_absolute_deviation(&values))),
        };
        let mut row = Row::default();
        row.set(measure, value, Bounds::around_if(value, spread));
        row.set_if(PEAK_MEMORY, self.peak_memory(suite));
        Some(row)
    }

    fn peak_memory(&self, suite: &Metadata) -> Option<f64> {
        let runs = self.runs.iter().map(|run| run.metadata.mem_max_rss);
        let common = [self.metadata.mem_max_rss, suite.mem_max_rss];
        runs.chain(common).flatten().reduce(f64::max)
    }
}

#[cfg(test)]
mod tests;
