//! Several results of one job become one.

use std::collections::BTreeMap;
use std::str::FromStr;

use kiln_model::ResourceName;

use crate::{BenchmarkName, Measures, Metric, Results};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// The metric with the smallest value.
    Min,
    /// The metric with the largest value.
    Max,
    Mean,
    /// The metric in the middle; of an even number, the mean of the two in the middle.
    Median,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no fold {name:?}: it is min, max, mean or median")]
pub struct UnknownFold {
    pub name: String,
}

/// Combines, for each measure of each benchmark, the metrics of the sets that hold it: a set without it does not count.
pub fn fold(sets: &[Results], by: Fold) -> Results {
    let mut gathered: BTreeMap<&BenchmarkName, BTreeMap<&ResourceName, Vec<Metric>>> =
        BTreeMap::new();
    for (benchmark, measures) in sets.iter().flat_map(Results::iter) {
        let gathered = gathered.entry(benchmark).or_default();
        for (measure, metric) in measures {
            gathered.entry(measure).or_default().push(*metric);
        }
    }
    let combined = gathered.into_iter().map(|(benchmark, measures)| {
        let measures: Measures = measures
            .into_iter()
            .filter_map(|(measure, metrics)| Some((measure.clone(), combine(metrics, by)?)))
            .collect();
        (benchmark.clone(), measures)
    });
    Results::gather(combined)
}

impl FromStr for Fold {
    type Err = UnknownFold;

    fn from_str(name: &str) -> Result<Self, UnknownFold> {
        match name {
            "min" => Ok(Self::Min),
            "max" => Ok(Self::Max),
            "mean" => Ok(Self::Mean),
            "median" => Ok(Self::Median),
            _ => Err(UnknownFold {
                name: name.chars().take(64).collect(),
            }),
        }
    }
}

fn combine(mut metrics: Vec<Metric>, by: Fold) -> Option<Metric> {
    let order = |a: &Metric, b: &Metric| a.value().total_cmp(&b.value());
    match by {
        Fold::Min => metrics.into_iter().min_by(order),
        Fold::Max => metrics.into_iter().max_by(order),
        Fold::Mean => Metric::mean(&metrics),
        Fold::Median => {
            metrics.sort_by(order);
            let last = metrics.len().checked_sub(1)?;
            Metric::mean(&metrics[last / 2..=metrics.len() / 2])
        }
    }
}

#[cfg(test)]
mod tests;
