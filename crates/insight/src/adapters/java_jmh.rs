//! JMH's JSON (`-rf json`).

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use super::document;
use super::position::of_name;
use super::sheet::{Bounds, Row, Sheet};
use super::unit::nanoseconds;
use crate::measure::{LATENCY, MAX_LATENCY, MIN_LATENCY, THROUGHPUT};
use crate::{ParseError, Results};

const EXPECTED: &str = "`[`, a list with benchmarks in it";

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    let benchmarks: Vec<Benchmark> = document::read(text, EXPECTED)?;
    let mut sheet = Sheet::new(text);
    for benchmark in benchmarks {
        let row = benchmark.row().map_err(|reason| {
            let (line, column) = of_name(text, &benchmark.path);
            ParseError::Malformed {
                line,
                column,
                reason,
            }
        })?;
        sheet.add_named(&benchmark.name(), row)?;
    }
    sheet.finish(EXPECTED)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Benchmark {
    #[serde(rename = "benchmark")]
    path: String,
    mode: Option<String>,
    #[serde(default)]
    params: BTreeMap<String, String>,
    primary_metric: Score,
    /// What profilers measured, and auxiliary counters.
    #[serde(default)]
    secondary_metrics: BTreeMap<String, Score>,
}

#[derive(Deserialize)]
struct Score {
    #[serde(rename = "score")]
    value: Number,
    #[serde(rename = "scoreConfidence", default)]
    confidence: Vec<Number>,
    #[serde(rename = "scorePercentiles", default)]
    percentiles: BTreeMap<String, Number>,
    #[serde(rename = "scoreUnit")]
    unit: String,
}

impl Benchmark {
    /// Benchmarks with parameters occur once for each combination.
    fn name(&self) -> String {
        let mut name = self.path.clone();
        for (index, (parameter, value)) in self.params.iter().enumerate() {
            name.push(if index == 0 { ':' } else { ',' });
            name.push_str(parameter);
            name.push('=');
            name.push_str(value);
        }
        name
    }

    fn row(&self) -> Result<Row, String> {
        let mut row = Row::default();
        let primary = &self.primary_metric;
        let Some((measure, factor)) = measure_of(&primary.unit) else {
            let unit = primary.unit.chars().take(64).collect::<String>();
            return Err(format!(
                "expected a unit like `ns/op` or `ops/s`, found {unit:?}"
            ));
        };
        row.set(measure, primary.value.0 * factor, primary.bounds(factor));
        // Other modes have no more than a handful of values behind their percentiles.
        if self.mode.as_deref() == Some("sample") {
            for (percentile, value) in &primary.percentiles {
                row.set(
                    percentile_measure(percentile),
                    value.0 * factor,
                    Bounds::NONE,
                );
            }
        }
        for (name, score) in &self.secondary_metrics {
            // Profilers of older versions mark their measures with a dot in the middle of the line.
            let name = name.trim_start_matches('·');
            let measure = match score.unit.as_str() {
                "" | "---" => name.to_owned(),
                unit => format!("{name} ({unit})"),
            };
            // A profiler that saw nothing says so with NaN; that is no reason to lose the rest.
            if score.value.0.is_finite() {
                row.set(measure, score.value.0, score.bounds(1.0));
            }
        }
        Ok(row)
    }
}

impl Score {
    fn bounds(&self, factor: f64) -> Bounds {
        match self.confidence.as_slice() {
            [Number(lower), Number(upper)] if lower.is_finite() && upper.is_finite() => {
                Bounds::between(lower * factor, upper * factor)
            }
            _ => Bounds::NONE,
        }
    }
}

fn measure_of(unit: &str) -> Option<(&'static str, f64)> {
    match unit.split_once('/')? {
        ("ops", time) => Some((THROUGHPUT, 1e9 / nanoseconds(time)?)),
        (time, "op") => Some((LATENCY, nanoseconds(time)?)),
        _ => None,
    }
}

fn percentile_measure(percentile: &str) -> String {
    match percentile {
        "0.0" => MIN_LATENCY.to_owned(),
        "100.0" => MAX_LATENCY.to_owned(),
        other => format!("p{}-latency", other.strip_suffix(".0").unwrap_or(other)),
    }
}

/// JMH writes what is no number as a string, because JSON has no other place for it.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrWord)
    }
}

struct NumberOrWord;

impl Visitor<'_> for NumberOrWord {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Number, E> {
        Ok(Number(number))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a score is a float to begin with"
    )]
    fn visit_u64<E: Error>(self, number: u64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a score is a float to begin with"
    )]
    fn visit_i64<E: Error>(self, number: i64) -> Result<Number, E> {
        Ok(Number(number as f64))
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Number, E> {
        match word {
            "NaN" => Ok(Number(f64::NAN)),
            "Infinity" | "+Infinity" | "+INF" => Ok(Number(f64::INFINITY)),
            "-Infinity" | "-INF" => Ok(Number(f64::NEG_INFINITY)),
            _ => Err(E::invalid_value(Unexpected::Str(word), &self)),
        }
    }
}

#[cfg(test)]
mod tests;
