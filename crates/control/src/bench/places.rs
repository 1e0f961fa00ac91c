//! Where the metrics of a report belong: the rows that its names stand for, looked up for all of them together.

use std::collections::{BTreeMap, BTreeSet};

use kiln_insight::threshold::{Direction, without_ending};
use kiln_model::BenchmarkUuid;
use kiln_store::Tx;
use kiln_store::sql::measure::Measure;
use kiln_store::sql::report::{Report, ReportMetric};
use kiln_store::sql::{benchmark, series};

use super::{Ids, measures};
use crate::Denied;

#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) measure: i64,
    pub(super) benchmark: i64,
    pub(super) series: i64,
    pub(super) direction: Option<Direction>,
}

/// The place of each metric, in their order. What is not there yet is made.
pub(super) fn places(
    tx: &mut dyn Tx,
    report: &Report,
    metrics: &[ReportMetric],
    ids: &Ids,
) -> Result<Vec<Place>, Denied> {
    let measures = measures(tx, report, metrics, ids)?;
    let benchmarks = benchmarks(tx, report, metrics, ids)?;
    let wanted: Vec<(i64, i64)> = metrics
        .iter()
        .map(|metric| {
            let (benchmark, _) = without_ending(&metric.benchmark);
            let measure = &measures[metric.measure.as_str()];
            (measure.id, benchmarks[benchmark])
        })
        .collect();
    let series = series(tx, report, &wanted)?;
    let places = metrics.iter().zip(wanted);
    Ok(places
        .map(|(metric, key)| Place {
            measure: key.0,
            benchmark: key.1,
            series: series[&key],
            direction: measures[metric.measure.as_str()]
                .direction
                .as_deref()
                .and_then(|name| name.parse().ok()),
        })
        .collect())
}

fn measures<'a>(
    tx: &mut dyn Tx,
    report: &Report,
    metrics: &'a [ReportMetric],
    ids: &Ids,
) -> Result<BTreeMap<&'a str, Measure>, Denied> {
    let mut found = BTreeMap::new();
    for metric in metrics {
        let name = metric.measure.as_str();
        if !found.contains_key(name) {
            found.insert(name, measures::ensure(tx, report.project, name, ids)?);
        }
    }
    Ok(found)
}

/// By name.
fn benchmarks<'a>(
    tx: &mut dyn Tx,
    report: &Report,
    metrics: &'a [ReportMetric],
    ids: &Ids,
) -> Result<BTreeMap<&'a str, i64>, Denied> {
    let names = metrics.iter();
    let names = names.map(|metric| without_ending(&metric.benchmark).0);
    let names: BTreeSet<&str> = names.collect();
    let listed: Vec<&str> = names.iter().copied().collect();
    let known = benchmark::of_names(tx, report.project, &listed)?;
    let known: BTreeMap<String, i64> = known.into_iter().collect();
    let wall = tx.wall();
    let mut found = BTreeMap::new();
    for name in names {
        let id = match known.get(name) {
            Some(id) => *id,
            None => benchmark::ensure(tx, report.project, BenchmarkUuid::mint(wall, ids), name)?,
        };
        found.insert(name, id);
    }
    Ok(found)
}

/// By measure and benchmark.
fn series(
    tx: &mut dyn Tx,
    report: &Report,
    wanted: &[(i64, i64)],
) -> Result<BTreeMap<(i64, i64), i64>, Denied> {
    let mut by_measure: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for (measure, benchmark) in wanted {
        by_measure.entry(*measure).or_default().insert(*benchmark);
    }
    let mut found = BTreeMap::new();
    for (measure, benchmarks) in by_measure {
        let listed: Vec<i64> = benchmarks.iter().copied().collect();
        let known = series::of_benchmarks(tx, report.testbed, measure, &listed)?;
        let known: BTreeMap<i64, i64> = known.into_iter().collect();
        for benchmark in benchmarks {
            let id = match known.get(&benchmark) {
                Some(id) => *id,
                None => series::ensure(tx, report.testbed, measure, benchmark)?,
            };
            found.insert((measure, benchmark), id);
        }
    }
    Ok(found)
}
