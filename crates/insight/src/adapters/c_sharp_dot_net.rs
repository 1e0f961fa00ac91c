//! `BenchmarkDotNet`'s JSON exporters.

use serde::Deserialize;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::{ALLOCATED, LATENCY, MAX_LATENCY, MIN_LATENCY};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `Benchmarks`, and statistics in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let report: Report = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for benchmark in report.benchmarks {
        // A benchmark that failed has no statistics.
        if let Some(statistics) = &benchmark.statistics {
            sheet.add_named(&benchmark.full_name, benchmark.row(statistics, average))?;
        }
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Report {
    benchmarks: Vec<Benchmark>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Benchmark {
    full_name: String,
    statistics: Option<Statistics>,
    memory: Option<Memory>,
    /// What diagnosers measured; the full exporter only.
    #[serde(default)]
    metrics: Vec<DiagnoserMetric>,
}

/// Times are in nanoseconds.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Statistics {
    min: Option<f64>,
    max: Option<f64>,
    mean: f64,
    standard_deviation: f64,
    median: f64,
    interquartile_range: f64,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Memory {
    gen0_collections: Option<f64>,
    gen1_collections: Option<f64>,
    gen2_collections: Option<f64>,
    total_operations: Option<f64>,
    bytes_allocated_per_operation: Option<f64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DiagnoserMetric {
    value: f64,
    descriptor: Descriptor,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Descriptor {
    id: String,
    #[serde(default)]
    unit: String,
}

/// Diagnosers whose numbers stand in `Memory` too.
const IN_MEMORY: [&str; 4] = [
    "Allocated Memory",
    "Gen0Collects",
    "Gen1Collects",
    "Gen2Collects",
];

impl Benchmark {
    fn row(&self, statistics: &Statistics, average: Average) -> Row {
        let (value, spread) = match average {
            Average::Mean => (statistics.mean, statistics.standard_deviation),
            Average::Median => (statistics.median, statistics.interquartile_range),
        };
        let mut row = Row::default();
        row.set(LATENCY, value, Bounds::around(value, spread));
        row.set_if(MIN_LATENCY, statistics.min);
        row.set_if(MAX_LATENCY, statistics.max);
        if let Some(memory) = &self.memory {
            row.set_if(ALLOCATED, memory.bytes_allocated_per_operation);
            row.set_if("gen0-collects", memory.gen0_collections);
            row.set_if("gen1-collects", memory.gen1_collections);
            row.set_if("gen2-collects", memory.gen2_collections);
            row.set_if("total-operations", memory.total_operations);
        }
        for metric in &self.metrics {
            let Descriptor { id, unit } = &metric.descriptor;
            if self.memory.is_some() && IN_MEMORY.contains(&id.as_str()) {
                continue;
            }
            let measure = if unit.is_empty() {
                id.clone()
            } else {
                format!("{id} ({unit})")
            };
            row.set(measure, metric.value, Bounds::NONE);
        }
        row
    }
}

#[cfg(test)]
mod tests;
