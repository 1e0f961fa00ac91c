//! The outcome of a run, for programs and for people.

mod number;
mod text;

use serde::Serialize;

use crate::failure::Failure;
use crate::fsync::FsyncTimes;
use crate::machine::Machine;
use crate::sample::Sample;
use crate::statistics::Summary;
use crate::target::{Target, Verdict};

pub(crate) use number::grouped;

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    pub(crate) machine: Machine,
    /// How long each side was measured, in rounds that take turns.
    #[serde(serialize_with = "number::as_seconds")]
    pub(crate) seconds: std::time::Duration,
    pub(crate) rounds: u32,
    pub(crate) measurements: Vec<Measurement>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Measurement {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    /// What the rates count.
    pub(crate) unit: &'static str,
    /// Measured between the rounds, in the directory of the databases; nothing where no disk is involved.
    pub(crate) fsync: Option<FsyncTimes>,
    pub(crate) sides: Vec<Side>,
    pub(crate) targets: Vec<Target>,
    pub(crate) notes: Vec<String>,
}

/// One row of a comparison. The first of each is ours.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Side {
    pub(crate) name: &'static str,
    pub(crate) rate: Summary,
    pub(crate) per_commit: Option<f64>,
    pub(crate) cpu_micros: Option<f64>,
    /// Our rate by this one's, round by round. A peer's that was measured elsewhere has a single value.
    pub(crate) ours_by_this: Option<Summary>,
}

impl Report {
    pub(crate) fn misses_a_target(&self) -> bool {
        let mut targets = self.measurements.iter().flat_map(|one| &one.targets);
        targets.any(|target| target.verdict == Verdict::Missed)
    }

    pub(crate) fn to_json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string_pretty(self)?)
    }
}

impl Side {
    /// Our own side, from the sample of each round.
    pub(crate) fn ours(name: &'static str, samples: &[Sample], rate: fn(&Sample) -> f64) -> Self {
        let middle = |of: fn(&Sample) -> Option<f64>| {
            let values: Option<Vec<f64>> = samples.iter().map(of).collect();
            values.map(|values| Summary::of(values).median)
        };
        Self {
            name,
            rate: Summary::of(samples.iter().map(rate)),
            per_commit: middle(Sample::per_commit),
            cpu_micros: middle(Sample::cpu_micros),
            ours_by_this: None,
        }
    }

    /// A peer that took turns with us.
    pub(crate) fn beside(name: &'static str, ours: &[Sample], samples: &[Sample]) -> Self {
        let pairs = ours.iter().zip(samples);
        let ratios = pairs.map(|(ours, peer)| ours.rate() / peer.rate());
        Self {
            ours_by_this: Some(Summary::of(ratios)),
            ..Self::ours(name, samples, Sample::rate)
        }
    }

    /// A peer whose rate is quoted.
    pub(crate) fn quoted(name: &'static str, rate: f64, ours: &Summary) -> Self {
        Self {
            name,
            rate: Summary::of([rate]),
            per_commit: None,
            cpu_micros: Some(1e6 / rate),
            ours_by_this: Some(Summary {
                median: ours.median / rate,
                lowest: ours.lowest / rate,
                highest: ours.highest / rate,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn samples(rates: [u64; 3]) -> Vec<Sample> {
        let sample = |operations| Sample {
            operations,
            wall: Duration::from_secs(1),
            ..Sample::default()
        };
        rates.into_iter().map(sample).collect()
    }

    #[test]
    fn a_ratio_is_taken_within_each_round_so_that_a_disk_that_changes_cancels_out() {
        let (ours, peer) = (samples([1_000, 8_000, 2_000]), samples([100, 800, 200]));
        let side = Side::beside("peer", &ours, &peer);
        assert_eq!(side.ours_by_this, Some(Summary::of([10.0])));
    }

    #[test]
    fn a_quoted_peer_is_compared_with_our_spread() {
        let ours = Summary::of([100.0, 200.0, 300.0]);
        let side = Side::quoted("peer", 50.0, &ours);
        assert_eq!(side.ours_by_this, Some(Summary::of([2.0, 4.0, 6.0])));
    }
}
