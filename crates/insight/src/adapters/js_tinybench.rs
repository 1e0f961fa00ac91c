//! tinybench: the table of `console.table(bench.table())`, or its tasks as JSON, `[{"name": …, "result": {"latency": …}}]`.

mod table;

use serde::Deserialize;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::{LATENCY, MAX_LATENCY, MIN_LATENCY, THROUGHPUT};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`[`, a list of tasks with results, or a table with the column `Task name`";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    if text.trim_start().starts_with(['[', '{']) {
        tasks(text, average)
    } else {
        table::parse(text, average, EXPECTED)
    }
}

fn tasks(text: &str, average: Average) -> Result<Results, ParseError> {
    let tasks: Vec<Task> = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for task in tasks {
        // A task that failed or did not run has none.
        if let Some(row) = task.row(average) {
            sheet.add_named(&task.name, row)?;
        }
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Task {
    name: String,
    result: Option<TaskResult>,
}

#[derive(Deserialize)]
struct TaskResult {
    /// In milliseconds.
    latency: Option<Statistics>,
    /// In operations per second.
    throughput: Option<Statistics>,
}

#[derive(Deserialize)]
struct Statistics {
    mean: f64,
    p50: Option<f64>,
    /// Half the width of the confidence interval of the mean.
    moe: Option<f64>,
    /// The median of the distances from the median.
    mad: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    p75: Option<f64>,
    p99: Option<f64>,
    p995: Option<f64>,
    p999: Option<f64>,
}

const NANOSECONDS: f64 = 1e6;

impl Task {
    fn row(&self, average: Average) -> Option<Row> {
        let result = self.result.as_ref()?;
        let latency = result.latency.as_ref()?;
        let mut row = Row::default();
        latency.set(&mut row, LATENCY, NANOSECONDS, average);
        let scaled = |value: Option<f64>| value.map(|value| value * NANOSECONDS);
        row.set_if(MIN_LATENCY, scaled(latency.min));
        row.set_if(MAX_LATENCY, scaled(latency.max));
        row.set_if("p75-latency", scaled(latency.p75));
        row.set_if("p99-latency", scaled(latency.p99));
        row.set_if("p99.5-latency", scaled(latency.p995));
        row.set_if("p99.9-latency", scaled(latency.p999));
        if let Some(throughput) = &result.throughput {
            throughput.set(&mut row, THROUGHPUT, 1.0, average);
        }
        Some(row)
    }
}

impl Statistics {
    fn set(&self, row: &mut Row, measure: &'static str, factor: f64, average: Average) {
        let (value, spread) = match (average, self.p50) {
            (Average::Median, Some(median)) => (median, self.mad),
            (Average::Median, None) | (Average::Mean, _) => (self.mean, self.moe),
        };
        let spread = spread.map(|spread| spread * factor);
        row.set(
            measure,
            value * factor,
            Bounds::around_if(value * factor, spread),
        );
    }
}

#[cfg(test)]
mod tests;
