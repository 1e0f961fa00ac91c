//! Bencher Metric Format: `{benchmark: {measure: {"value": n, "lower_value"?: n, "upper_value"?: n}}}`. Other members of a
//! metric are ignored; names that occur twice are refused, because one of the two numbers would be lost.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};
use serde_json::Number;

use super::document::{expect_a_start, malformed};
use crate::name::measure_name;
use crate::results::add_measure;
use crate::{BenchmarkName, Measures, Metric, ParseError, Results};

pub(crate) fn parse(text: &str) -> Result<Results, ParseError> {
    expect_a_start(text, &['{'], "`{`, the start of an object of benchmarks")?;
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let results = Benchmarks
        .deserialize(&mut deserializer)
        .and_then(|results| deserializer.end().map(|()| results));
    results.map_err(|error| malformed(text, &error))
}

struct Benchmarks;

impl<'de> DeserializeSeed<'de> for Benchmarks {
    type Value = Results;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Results, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Benchmarks {
    type Value = Results;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of benchmarks")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Results, A::Error> {
        let mut results = Results::default();
        while let Some(name) = map.next_key::<String>()? {
            let benchmark = BenchmarkName::try_from(name).map_err(A::Error::custom)?;
            results.check_new(&benchmark).map_err(A::Error::custom)?;
            let measures = map.next_value_seed(MeasuresOf(&benchmark))?;
            results
                .add_benchmark(benchmark, measures)
                .map_err(A::Error::custom)?;
        }
        Ok(results)
    }
}

struct MeasuresOf<'a>(&'a BenchmarkName);

impl<'de> DeserializeSeed<'de> for MeasuresOf<'_> {
    type Value = Measures;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Measures, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for MeasuresOf<'_> {
    type Value = Measures;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object of measures for {:?}", self.0.as_str())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Measures, A::Error> {
        let mut measures = Measures::new();
        while let Some(name) = map.next_key::<String>()? {
            let measure = measure_name(&name).map_err(A::Error::custom)?;
            let metric = map.next_value_seed(OneMetric)?;
            add_measure(self.0, &mut measures, measure, metric).map_err(A::Error::custom)?;
        }
        Ok(measures)
    }
}

struct OneMetric;

impl<'de> DeserializeSeed<'de> for OneMetric {
    type Value = Metric;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Metric, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for OneMetric {
    type Value = Metric;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a metric, which is an object with the number `value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metric, A::Error> {
        let (mut value, mut lower, mut upper) = (None, None, None);
        while let Some(field) = map.next_key::<String>()? {
            match field.as_str() {
                "value" => set_once(&mut value, "value", map.next_value()?)?,
                "lower_value" => set_once(&mut lower, "lower_value", map.next_value()?)?,
                "upper_value" => set_once(&mut upper, "upper_value", map.next_value()?)?,
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        let value: Number = value.ok_or_else(|| A::Error::missing_field("value"))?;
        let bound = |bound: Option<Option<Number>>| bound.flatten().map(|number| float(&number));
        Metric::new(float(&value), bound(lower), bound(upper)).map_err(A::Error::custom)
    }
}

fn set_once<T, E: Error>(slot: &mut Option<T>, field: &'static str, value: T) -> Result<(), E> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(E::duplicate_field(field)),
    }
}

/// A number that no float can hold becomes one that [`Metric::new`] refuses.
fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests;
