//! What a metric is compared with: the earlier metrics of its series on its branch.

use std::collections::BTreeMap;

use kiln_model::Millis;
use kiln_store::Tx;
use kiln_store::sql::job;
use kiln_store::sql::metric::{self, Track};
use kiln_store::sql::report::{self, Report};

use super::judges::Judge;
use crate::Denied;

/// How far back a sample reaches at most, in reports: more would cost more than it tells.
const MAX_REPORTS: i64 = 1_024;

/// The reports before this one on its head's versions, its testbed and, for a job, its spec.
pub(super) struct History {
    /// How many newer reports there are than this one, and when it started.
    reports: BTreeMap<i64, Earlier>,
    oldest: i64,
}

#[derive(Clone, Copy)]
struct Earlier {
    newer: usize,
    started: Millis,
}

impl History {
    pub(super) fn of(tx: &mut dyn Tx, of: &Report) -> Result<Self, Denied> {
        let Some(head) = report::head(tx, of.id)? else {
            return Err(Denied::NotFound("head"));
        };
        let spec = job::of_report(tx, of.id)?.and_then(|job| job.ask.spec);
        let stops = metric::track(
            tx,
            Track {
                head,
                testbed: of.testbed,
                spec,
                from: None,
                to: None,
                limit: MAX_REPORTS,
            },
        )?;
        let reports: BTreeMap<i64, Earlier> = stops
            .iter()
            .filter(|stop| stop.report != of.id)
            .enumerate()
            .map(|(newer, stop)| {
                let started = stop.start_time;
                (stop.report, Earlier { newer, started })
            })
            .collect();
        let oldest = reports.keys().next().copied().unwrap_or(i64::MAX);
        Ok(Self { reports, oldest })
    }

    /// The samples of some series, each as its model wants it, oldest value first. A series without earlier values is missing.
    pub(super) fn samples(
        &self,
        tx: &mut dyn Tx,
        of: &BTreeMap<i64, &Judge>,
    ) -> Result<BTreeMap<i64, Vec<f64>>, Denied> {
        if self.reports.is_empty() {
            return Ok(BTreeMap::new());
        }
        let wall = tx.wall();
        let listed: Vec<i64> = of.keys().copied().collect();
        let mut found: BTreeMap<i64, Vec<(usize, i64, f64)>> = BTreeMap::new();
        for sample in metric::samples(tx, &listed, self.oldest)? {
            let Some(earlier) = self.reports.get(&sample.report) else {
                continue;
            };
            if of[&sample.series].looks_back_to(earlier.started, wall) {
                let values = found.entry(sample.series).or_default();
                values.push((earlier.newer, sample.iteration, sample.value));
            }
        }
        let samples = found.into_iter();
        Ok(samples
            .map(|(series, values)| (series, newest(values, of[&series])))
            .collect())
    }
}

/// The newest values, as many as a model wants, oldest first.
fn newest(mut values: Vec<(usize, i64, f64)>, judge: &Judge) -> Vec<f64> {
    values.sort_by_key(|(newer, iteration, _)| (*newer, *iteration));
    if let Some(most) = judge.model.rules().max_sample_size {
        values.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
    let oldest_first = values.into_iter().rev();
    oldest_first.map(|(_, _, value)| value).collect()
}
