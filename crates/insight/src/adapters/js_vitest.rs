//! `vitest bench --outputJson`.

use serde::Deserialize;

use super::document;
use super::sheet::{Bounds, Row, Sheet};
use crate::measure::{LATENCY, MAX_LATENCY, MIN_LATENCY, THROUGHPUT};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `files`, and benchmarks in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let report: Report = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    let groups = report.files.into_iter().flat_map(|file| file.groups);
    for group in groups {
        for benchmark in group.benchmarks {
            let name = format!("{} > {}", group.full_name, benchmark.name);
            sheet.add_named(&name, benchmark.row(average))?;
        }
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Report {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    groups: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(rename = "fullName")]
    full_name: String,
    benchmarks: Vec<Benchmark>,
}

/// Times are in milliseconds.
#[derive(Deserialize)]
struct Benchmark {
    name: String,
    hz: f64,
    mean: f64,
    median: Option<f64>,
    /// Half the width of the confidence interval of the mean.
    moe: Option<f64>,
    /// The same, in percent of the mean.
    rme: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    p75: Option<f64>,
    p99: Option<f64>,
    p995: Option<f64>,
    p999: Option<f64>,
}

impl Benchmark {
    fn row(&self, average: Average) -> Row {
        let nanoseconds = |milliseconds: Option<f64>| milliseconds.map(|ms| ms * 1e6);
        let mut row = Row::default();
        match (average, nanoseconds(self.median)) {
            (Average::Median, Some(median)) => row.set(LATENCY, median, Bounds::NONE),
            (Average::Median, None) | (Average::Mean, _) => {
                let mean = self.mean * 1e6;
                row.set(
                    LATENCY,
                    mean,
                    Bounds::around_if(mean, nanoseconds(self.moe)),
                );
            }
        }
        let spread = self.rme.map(|percent| self.hz * percent / 100.0);
        row.set(THROUGHPUT, self.hz, Bounds::around_if(self.hz, spread));
        row.set_if(MIN_LATENCY, nanoseconds(self.min));
        row.set_if(MAX_LATENCY, nanoseconds(self.max));
        row.set_if("p75-latency", nanoseconds(self.p75));
        row.set_if("p99-latency", nanoseconds(self.p99));
        row.set_if("p99.5-latency", nanoseconds(self.p995));
        row.set_if("p99.9-latency", nanoseconds(self.p999));
        row
    }
}

#[cfg(test)]
mod tests;
