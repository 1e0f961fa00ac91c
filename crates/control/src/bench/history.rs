//! What a metric is compared with: the earlier metrics of its series on its branch.

use std::collections::BTreeMap;
use std::time::Duration;

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

    /// The sample of a series that a model wants, oldest value first.
    pub(super) fn of_series(
        &self,
        tx: &mut dyn Tx,
        series: i64,
        judge: &Judge,
    ) -> Result<Vec<f64>, Denied> {
        if self.reports.is_empty() {
            return Ok(Vec::new());
        }
        let rules = judge.model.rules();
        let since = rules
            .window
            .map(|seconds| tx.wall() - Duration::from_secs(u64::from(seconds)));
        let mut sample: Vec<(usize, i64, f64)> = metric::values_of_series(tx, series, self.oldest)?
            .into_iter()
            .filter_map(|(report, iteration, value)| {
                let earlier = self.reports.get(&report)?;
                let recent = since.is_none_or(|since| earlier.started >= since);
                recent.then_some((earlier.newer, iteration, value))
            })
            .collect();
        sample.sort_by_key(|(newer, iteration, _)| (*newer, *iteration));
        if let Some(most) = rules.max_sample_size {
            sample.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        }
        Ok(sample
            .into_iter()
            .rev()
            .map(|(_, _, value)| value)
            .collect())
    }
}
