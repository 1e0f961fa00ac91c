//! Google Benchmark's JSON (`--benchmark_format=json`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::document;
use super::position::of_name;
use super::repeats::Repeats;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::{BANDWIDTH, CPU_TIME, ITEMS_PER_SECOND, LATENCY};
use crate::{Average, ParseError, Results};

const EXPECTED: &str = "`{`, an object with the list `benchmarks`, and benchmarks in it";

pub(crate) fn parse(text: &str, average: Average) -> Result<Results, ParseError> {
    let report: Report = document::read(text, EXPECTED)?;
    let mut runs = Repeats::default();
    let mut aggregates = Aggregates::new();
    for members in report.benchmarks {
        let entry = Entry::read(text, members)?;
        if entry.holds_no_time() {
            continue;
        }
        let numbers = entry.numbers()?;
        match entry.aggregate {
            None => {
                for (measure, value) in numbers {
                    runs.push(&entry.name, measure.into(), value);
                }
            }
            Some(statistic) => {
                let statistics = aggregates.entry(entry.name).or_default();
                statistics.insert(statistic, numbers);
            }
        }
    }
    // With `--benchmark_report_aggregates_only` there are no runs to take the statistics of.
    aggregates.retain(|name, _| !runs.contains(name));
    let mut sheet = Sheet::new(text);
    runs.write(average, |name, row| sheet.add_named(name, row))?;
    for (name, statistics) in &aggregates {
        if let Some(row) = row_of(statistics, average) {
            sheet.add_named(name, row)?;
        }
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
struct Report {
    benchmarks: Vec<Map<String, Value>>,
}

/// One entry of the list: a run, or a statistic over runs.
struct Entry<'a> {
    text: &'a str,
    name: String,
    aggregate: Option<String>,
    members: Map<String, Value>,
}

/// Members that are numbers and describe the run, not what was measured.
const NOT_MEASURED: [&str; 8] = [
    "family_index",
    "per_family_instance_index",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "real_time",
    "cpu_time",
];

impl<'a> Entry<'a> {
    fn read(text: &'a str, members: Map<String, Value>) -> Result<Self, ParseError> {
        let string = |member: &str| {
            members
                .get(member)
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let is_aggregate = string("run_type").as_deref() == Some("aggregate");
        let name = if is_aggregate {
            string("run_name")
        } else {
            string("name")
        };
        let entry = Self {
            text,
            name: name.unwrap_or_default(),
            aggregate: is_aggregate.then(|| string("aggregate_name").unwrap_or_default()),
            members,
        };
        if entry.name.is_empty() {
            return Err(entry.error("a benchmark has no `name`"));
        }
        if entry.is("error_occurred") {
            let message = entry.members.get("error_message").and_then(Value::as_str);
            let message = message.unwrap_or("it does not say why");
            return Err(entry.error(&format!("the benchmark {:?} failed: {message}", entry.name)));
        }
        Ok(entry)
    }

    /// A skipped benchmark, or the fit of a complexity.
    fn holds_no_time(&self) -> bool {
        let is_fit = self.aggregate.is_some() && self.number("real_time").is_none();
        self.is("skipped") || is_fit
    }

    fn numbers(&self) -> Result<Vec<(String, f64)>, ParseError> {
        let unit = self.members.get("time_unit").and_then(Value::as_str);
        let unit = unit.unwrap_or("ns");
        let factor = nanoseconds(unit)
            .ok_or_else(|| self.error(&format!("expected a unit of time, found {unit:?}")))?;
        let latency = self
            .number("real_time")
            .ok_or_else(|| self.error("expected the number `real_time`"))?;
        let mut numbers = vec![(LATENCY.to_owned(), latency * factor)];
        if let Some(cpu) = self.number("cpu_time") {
            numbers.push((CPU_TIME.to_owned(), cpu * factor));
        }
        for (member, value) in &self.members {
            if let Some(value) = value.as_f64()
                && !NOT_MEASURED.contains(&member.as_str())
            {
                numbers.push((measure(member).to_owned(), value));
            }
        }
        Ok(numbers)
    }

    fn number(&self, member: &str) -> Option<f64> {
        self.members.get(member).and_then(Value::as_f64)
    }

    fn is(&self, member: &str) -> bool {
        self.members.get(member).and_then(Value::as_bool) == Some(true)
    }

    fn error(&self, reason: &str) -> ParseError {
        let (line, column) = of_name(self.text, &self.name);
        ParseError::Malformed {
            line,
            column,
            reason: reason.chars().take(crate::limits::MAX_REASON).collect(),
        }
    }
}

fn measure(member: &str) -> &str {
    match member {
        "bytes_per_second" => BANDWIDTH,
        "items_per_second" => ITEMS_PER_SECOND,
        counter => counter,
    }
}

/// Statistics that the harness took itself, by benchmark and by their names.
type Aggregates = BTreeMap<String, BTreeMap<String, Vec<(String, f64)>>>;

fn row_of(statistics: &BTreeMap<String, Vec<(String, f64)>>, average: Average) -> Option<Row> {
    let center = statistics.get(match average {
        Average::Mean => "mean",
        Average::Median => "median",
    })?;
    let deviations = statistics.get("stddev");
    let mut row = Row::default();
    for (measure, value) in center {
        let deviation = deviations
            .and_then(|all| all.iter().find(|(other, _)| other == measure))
            .map(|(_, deviation)| *deviation);
        row.set(
            measure.clone(),
            *value,
            Bounds::around_if(*value, deviation),
        );
    }
    Some(row)
}

#[cfg(test)]
mod tests;
