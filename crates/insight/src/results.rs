//! What one result text holds: benchmark → measure → metric, in the order of names.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kiln_model::ResourceName;
use serde::Serialize;

use crate::limits::{MAX_BENCHMARKS, MAX_MEASURES};
use crate::{BenchmarkName, Metric};

/// The metrics of one benchmark, by measure.
pub type Measures = BTreeMap<ResourceName, Metric>;

/// Serializes as Bencher Metric Format, which [`Adapter::Json`](crate::Adapter::Json) reads back.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Results {
    benchmarks: BTreeMap<BenchmarkName, Measures>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the benchmark {:?} occurs twice", .benchmark.as_str())]
    DuplicateBenchmark { benchmark: BenchmarkName },
    #[error("the benchmark {:?} has the measure {:?} twice", .benchmark.as_str(), .measure.as_str())]
    DuplicateMeasure {
        benchmark: BenchmarkName,
        measure: ResourceName,
    },
    #[error("there are more than {MAX_BENCHMARKS} benchmarks")]
    TooManyBenchmarks,
    #[error("the benchmark {:?} has more than {MAX_MEASURES} measures", .benchmark.as_str())]
    TooManyMeasures { benchmark: BenchmarkName },
}

impl Results {
    /// Adds a benchmark whole.
    pub fn add_benchmark(
        &mut self,
        benchmark: BenchmarkName,
        measures: Measures,
    ) -> Result<(), Refused> {
        self.check_new(&benchmark)?;
        if measures.len() > MAX_MEASURES {
            return Err(Refused::TooManyMeasures { benchmark });
        }
        self.benchmarks.insert(benchmark, measures);
        Ok(())
    }

    /// Adds one metric, to a benchmark that may be there already.
    pub fn add_metric(
        &mut self,
        benchmark: BenchmarkName,
        measure: ResourceName,
        metric: Metric,
    ) -> Result<(), Refused> {
        let Some(measures) = self.benchmarks.get_mut(&benchmark) else {
            return self.add_benchmark(benchmark, Measures::from([(measure, metric)]));
        };
        add_measure(&benchmark, measures, measure, metric)
    }

    /// Adds measures, to a benchmark that may be there already with others.
    pub(crate) fn add_measures(
        &mut self,
        benchmark: BenchmarkName,
        measures: Measures,
    ) -> Result<(), Refused> {
        let Some(present) = self.benchmarks.get_mut(&benchmark) else {
            return self.add_benchmark(benchmark, measures);
        };
        for (measure, metric) in measures {
            add_measure(&benchmark, present, measure, metric)?;
        }
        Ok(())
    }

    pub fn get(&self, benchmark: &str, measure: &str) -> Option<Metric> {
        let measures = self.benchmarks.get(benchmark)?;
        let measure: ResourceName = measure.parse().ok()?;
        measures.get(&measure).copied()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&BenchmarkName, &Measures)> {
        self.benchmarks.iter()
    }

    pub fn is_empty(&self) -> bool {
        self.benchmarks.is_empty()
    }

    /// Puts together what came from other results. The limits are for input and do not apply again.
    pub(crate) fn gather(benchmarks: impl Iterator<Item = (BenchmarkName, Measures)>) -> Self {
        Self {
            benchmarks: benchmarks.collect(),
        }
    }

    /// Whether a benchmark of this name may still be added.
    pub(crate) fn check_new(&self, benchmark: &BenchmarkName) -> Result<(), Refused> {
        if self.benchmarks.contains_key(benchmark) {
            let benchmark = benchmark.clone();
            return Err(Refused::DuplicateBenchmark { benchmark });
        }
        if self.benchmarks.len() == MAX_BENCHMARKS {
            return Err(Refused::TooManyBenchmarks);
        }
        Ok(())
    }
}

/// Adds a measure to those of a benchmark, within the limits.
pub(crate) fn add_measure(
    benchmark: &BenchmarkName,
    measures: &mut Measures,
    measure: ResourceName,
    metric: Metric,
) -> Result<(), Refused> {
    let full = measures.len() == MAX_MEASURES;
    let benchmark = || benchmark.clone();
    match measures.entry(measure) {
        Entry::Occupied(entry) => Err(Refused::DuplicateMeasure {
            benchmark: benchmark(),
            measure: entry.key().clone(),
        }),
        Entry::Vacant(_) if full => Err(Refused::TooManyMeasures {
            benchmark: benchmark(),
        }),
        Entry::Vacant(entry) => {
            entry.insert(metric);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(value: f64) -> Metric {
        Metric::new(value, None, None).unwrap()
    }

    #[test]
    fn a_metric_is_found_by_its_names() {
        let mut results = Results::default();
        let (benchmark, measure) = ("adder".parse().unwrap(), "latency".parse().unwrap());
        results.add_metric(benchmark, measure, metric(1.0)).unwrap();
        assert_eq!(results.get("adder", "latency"), Some(metric(1.0)));
        assert_eq!(results.get("adder", "throughput"), None);
        assert_eq!(results.get("other", "latency"), None);
    }

    #[test]
    fn a_measure_is_added_once() {
        let mut results = Results::default();
        let mut add = || {
            let (benchmark, measure) = ("adder".parse().unwrap(), "latency".parse().unwrap());
            results.add_metric(benchmark, measure, metric(1.0))
        };
        add().unwrap();
        let error = add().unwrap_err().to_string();
        assert_eq!(
            error,
            r#"the benchmark "adder" has the measure "latency" twice"#
        );
    }

    #[test]
    fn benchmarks_are_limited() {
        let mut results = Results::default();
        for index in 0..MAX_BENCHMARKS {
            let name = format!("b{index}").parse().unwrap();
            results.add_benchmark(name, Measures::new()).unwrap();
        }
        let one_more = results.add_benchmark("one more".parse().unwrap(), Measures::new());
        assert_eq!(one_more, Err(Refused::TooManyBenchmarks));
    }

    #[test]
    fn measures_are_limited() {
        let mut results = Results::default();
        let mut add = |name: String| {
            results.add_metric("adder".parse().unwrap(), name.parse().unwrap(), metric(1.0))
        };
        for index in 0..MAX_MEASURES {
            add(format!("m{index}")).unwrap();
        }
        let one_more = add("one more".into());
        assert!(matches!(one_more, Err(Refused::TooManyMeasures { .. })));
    }
}
