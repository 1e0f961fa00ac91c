//! Ours: two images that take turns on one host, and what came of it.

use serde::{Deserialize, Serialize};

use super::Adapter;
use crate::Digest;

/// Part of a run's `job`, whose `image` is the base.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewPaired {
    /// The image that is compared with the base: an OCI reference.
    pub image: String,
    /// How many pairs at most; the run ends earlier when it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<u32>,
    /// The least difference that matters, as a share of the base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<f64>,
    /// The measure that decides; without one it is latency, or throughput, or everything that is measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
}

/// What a runner is told about the other image, and about when it may stop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedConfig {
    pub digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    pub pairs: u32,
    pub gate: f64,
    pub error_rate: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<String>,
    /// How the runner reads what the turns write.
    pub adapter: Adapter,
}

/// How the turns went, as the runner tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PairedTurns {
    /// The other image that ran, for this platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Digest>,
    pub turns: u64,
    /// Whether it stopped because everything was decided.
    pub decided: bool,
}

/// What the pairs said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedOutcome {
    /// Over all lines that decide: `faster`, `slower`, `same` or `cannot_tell`.
    pub verdict: String,
    /// How many there were, and how many were asked for.
    pub pairs: u32,
    pub asked: u32,
    pub stopped_early: bool,
    /// Both images are the same one: any verdict but `same` and `cannot_tell` says that the host is no place to measure.
    pub self_check: bool,
    pub gate: f64,
    /// How often equal programs may be called different, over all lines that decide.
    pub error_rate: f64,
    pub lines: Vec<PairedLine>,
}

/// A benchmark and a measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedLine {
    pub benchmark: String,
    pub measure: String,
    /// Whether it counts for the verdict of all.
    pub decides: bool,
    pub verdict: String,
    /// How much the head is above the base, as a share of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
    /// Holds the true effect, whenever one looks; absent while there are too few pairs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<(f64, f64)>,
    /// The spread of a block of two pairs, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// How much each block is like the one before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correlation: Option<f64>,
    /// Why it could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}
