//! Which model judges a metric of a report.

use std::collections::BTreeMap;
use std::time::Duration;

use kiln_insight::threshold::Model;
use kiln_model::Millis;
use kiln_store::Tx;
use kiln_store::sql::report::Report;
use kiln_store::sql::{threshold, threshold_model};

use super::models;
use crate::Denied;

pub(super) struct Judge {
    pub(super) threshold: i64,
    pub(super) model_id: i64,
    pub(super) model: Model,
}

impl Judge {
    /// Whether its sample reaches back to a time.
    pub(super) fn looks_back_to(&self, time: Millis, now: Millis) -> bool {
        let window = self.model.rules().window;
        window.is_none_or(|seconds| time >= now - Duration::from_secs(u64::from(seconds)))
    }
}

/// The models of a branch on a testbed, by measure and benchmark.
pub(super) struct Judges {
    by_scope: BTreeMap<(i64, Option<i64>), Judge>,
}

impl Judges {
    pub(super) fn of(tx: &mut dyn Tx, report: &Report) -> Result<Self, Denied> {
        let mut by_scope = BTreeMap::new();
        for threshold in threshold::live(tx, report.branch, report.testbed)? {
            let Some(model_id) = threshold.model else {
                continue;
            };
            let row = threshold_model::find(tx, model_id)?.ok_or(Denied::NotFound("model"))?;
            let judge = Judge {
                threshold: threshold.id,
                model_id,
                model: models::check_model(&models::given(&row))?,
            };
            by_scope.insert((threshold.measure, threshold.benchmark), judge);
        }
        Ok(Self { by_scope })
    }

    /// A threshold of the benchmark itself comes before that of all benchmarks.
    pub(super) fn of_metric(&self, measure: i64, benchmark: i64) -> Option<&Judge> {
        let own = self.by_scope.get(&(measure, Some(benchmark)));
        own.or_else(|| self.by_scope.get(&(measure, None)))
    }

    /// Models that control their false discoveries, with the rate they accept.
    pub(super) fn false_discovery_rates(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        self.by_scope.values().filter_map(|judge| {
            let rate = judge.model.rules().false_discovery_rate?;
            Some((judge.model_id, rate))
        })
    }
}
