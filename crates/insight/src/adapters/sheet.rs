//! Where adapters write what they read: every name and number is checked here, and what is wrong is pointed at.

use std::borrow::Cow;

use super::lines::{Line, nothing_found};
use super::position::of_name;
use crate::limits::MAX_REASON;
use crate::name::{InvalidMeasureName, measure_name};
use crate::results::add_measure;
use crate::{
    BenchmarkName, InvalidBenchmarkName, Measures, Metric, NotFinite, ParseError, Refused, Results,
};

/// The results of one text while they are read.
#[derive(Debug)]
pub(crate) struct Sheet<'a> {
    text: &'a str,
    results: Results,
}

/// The numbers of one benchmark, as the harness gave them. Most have one, which needs no memory of its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    first: Option<Entry>,
    more: Vec<Entry>,
}

/// How far a value may be off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Bounds {
    lower: Option<f64>,
    upper: Option<f64>,
}

impl Bounds {
    pub(crate) const NONE: Self = Self {
        lower: None,
        upper: None,
    };

    pub(crate) fn between(lower: f64, upper: f64) -> Self {
        Self {
            lower: Some(lower),
            upper: Some(upper),
        }
    }

    pub(crate) fn around(value: f64, spread: f64) -> Self {
        Self::between(value - spread, value + spread)
    }

    /// Around the value by its spread, where the harness knows one.
    pub(crate) fn around_if(value: f64, spread: Option<f64>) -> Self {
        spread.map_or(Self::NONE, |spread| Self::around(value, spread))
    }
}

impl Row {
    pub(crate) fn set(
        &mut self,
        measure: impl Into<Cow<'static, str>>,
        value: f64,
        bounds: Bounds,
    ) {
        let entry = Entry {
            measure: measure.into(),
            value,
            bounds,
        };
        if self.first.is_none() {
            self.first = Some(entry);
        } else {
            self.more.push(entry);
        }
    }

    /// Sets a measure that the harness gives only sometimes, and without bounds.
    pub(crate) fn set_if(&mut self, measure: impl Into<Cow<'static, str>>, value: Option<f64>) {
        if let Some(value) = value {
            self.set(measure, value, Bounds::NONE);
        }
    }
}

impl<'a> Sheet<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            results: Results::default(),
        }
    }

    /// Adds what a line of text completed.
    pub(crate) fn add(&mut self, line: &Line<'_>, name: &str, row: Row) -> Result<(), ParseError> {
        self.insert(name, row)
            .map_err(|unusable| line.error(line.text.trim_start(), &unusable))
    }

    /// Adds what a document says about a benchmark; an error points at the last mention of its name.
    pub(crate) fn add_named(&mut self, name: &str, row: Row) -> Result<(), ParseError> {
        self.insert(name, row).map_err(|unusable| {
            let (line, column) = of_name(self.text, name);
            let reason = unusable.to_string().chars().take(MAX_REASON).collect();
            ParseError::Malformed {
                line,
                column,
                reason,
            }
        })
    }

    /// The results, if there are any.
    pub(crate) fn finish(self, expected: &str) -> Result<Results, ParseError> {
        if self.results.is_empty() {
            return Err(nothing_found(self.text, expected));
        }
        Ok(self.results)
    }

    fn insert(&mut self, name: &str, row: Row) -> Result<(), Unusable> {
        let benchmark: BenchmarkName = name.parse()?;
        let mut measures = Measures::new();
        for entry in row.first.into_iter().chain(row.more) {
            entry.check_into(&benchmark, &mut measures)?;
        }
        Ok(self.results.add_measures(benchmark, measures)?)
    }
}

#[derive(Clone, Debug)]
struct Entry {
    measure: Cow<'static, str>,
    value: f64,
    bounds: Bounds,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unusable {
    #[error(transparent)]
    Name(#[from] InvalidBenchmarkName),
    #[error("a measure of the benchmark {:?}: {invalid}", .benchmark.as_str())]
    Measure {
        benchmark: BenchmarkName,
        invalid: InvalidMeasureName,
    },
    #[error("the measure {measure} of the benchmark {:?}: {not_finite}", .benchmark.as_str())]
    Number {
        benchmark: BenchmarkName,
        measure: Cow<'static, str>,
        not_finite: NotFinite,
    },
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Entry {
    fn check_into(
        self,
        benchmark: &BenchmarkName,
        measures: &mut Measures,
    ) -> Result<(), Unusable> {
        let name = measure_name(&self.measure).map_err(|invalid| Unusable::Measure {
            benchmark: benchmark.clone(),
            invalid,
        })?;
        let metric = Metric::new(self.value, self.bounds.lower, self.bounds.upper).map_err(
            |not_finite| Unusable::Number {
                benchmark: benchmark.clone(),
                measure: self.measure,
                not_finite,
            },
        )?;
        Ok(add_measure(benchmark, measures, name, metric)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::lines::lines;

    fn row(measure: &'static str, value: f64) -> Row {
        let mut row = Row::default();
        row.set(measure, value, Bounds::NONE);
        row
    }

    fn error(name: &str, row: Row) -> String {
        let text = "first\n  second";
        let line = lines(text).last().unwrap();
        let mut sheet = Sheet::new(text);
        sheet.add(&line, name, row).unwrap_err().to_string()
    }

    #[test]
    fn measures_of_one_benchmark_come_together() {
        let mut sheet = Sheet::new("fib");
        sheet.add_named("fib", row("latency", 1.0)).unwrap();
        sheet.add_named("fib", row("throughput", 2.0)).unwrap();
        let results = sheet.finish("fib").unwrap();
        assert_eq!(
            results.get("fib", "latency").unwrap().value().to_bits(),
            1f64.to_bits()
        );
        assert!(results.get("fib", "throughput").is_some());
    }

    #[test]
    fn a_measure_that_occurs_twice_is_pointed_at() {
        let mut sheet = Sheet::new("fib\n fib");
        sheet.add_named("fib", row("latency", 1.0)).unwrap();
        let error = sheet.add_named("fib", row("latency", 1.0)).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"line 2, column 2: the benchmark "fib" has the measure "latency" twice"#
        );
    }

    #[test]
    fn numbers_that_are_not_finite_are_named() {
        assert_eq!(
            error("fib", row("latency", f64::INFINITY)),
            r#"line 2, column 3: the measure latency of the benchmark "fib": `value` is not a finite number"#
        );
    }

    #[test]
    fn names_of_output_that_was_not_utf8_are_refused() {
        assert_eq!(
            error("f\u{fffd}b", row("latency", 1.0)),
            "line 2, column 3: the benchmark name \"f\u{fffd}b\" holds U+FFFD: the output was not UTF-8"
        );
        assert_eq!(
            error("fib", row("l\u{fffd}tency", 1.0)),
            "line 2, column 3: a measure of the benchmark \"fib\": \
             the measure name \"l\u{fffd}tency\" holds U+FFFD: the output was not UTF-8"
        );
    }

    #[test]
    fn names_that_cannot_be_stored_are_refused() {
        assert!(error("", row("latency", 1.0)).ends_with("a benchmark name is empty"));
        let mut too_long = Row::default();
        too_long.set("m".repeat(65), 1.0, Bounds::NONE);
        assert!(error("fib", too_long).contains("is not a valid name"));
    }
}
