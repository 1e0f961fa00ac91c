//! Under which conditions a job ran. It travels with the result.

use std::time::Duration;

use kiln_model::Digest;
use serde::Serialize;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Conditions {
    /// The back end that gave the isolation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// Its layers and limits, with those that were not in effect.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<SealedLayer>,
    /// The image that ran, for this platform.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Digest>,
    /// Whether the image was unpacked already.
    pub cached: bool,
    pub stages: StageTimes,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub iterations: Vec<IterationUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncated>,
}

/// A layer of isolation or a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SealedLayer {
    pub name: String,
    pub applied: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// How long each stage took. Only the last is measured or billed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageTimes {
    pub pull_ms: u64,
    pub unpack_ms: u64,
    pub prepare_ms: u64,
    pub run_ms: u64,
}

/// What one iteration used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct IterationUsage {
    pub wall_us: u64,
    pub user_us: u64,
    pub system_us: u64,
    pub peak_resident_bytes: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak_memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oom_kills: Option<u64>,
}

/// What did not fit into the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Truncated {
    /// Streams and files that were cut off; each ends with a mark that says so.
    pub texts: u64,
    pub lost_bytes: u64,
}

impl Conditions {
    /// The layers that were not in effect.
    pub fn missing(&self) -> impl Iterator<Item = &SealedLayer> {
        self.layers.iter().filter(|layer| !layer.applied)
    }
}

impl IterationUsage {
    pub(super) fn new(exit: &kiln_sandbox::Exit) -> Self {
        let usage = &exit.usage;
        Self {
            wall_us: micros(usage.elapsed),
            user_us: micros(usage.user),
            system_us: micros(usage.system),
            peak_resident_bytes: usage.peak_resident_bytes,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            peak_memory_bytes: usage.peak_memory_bytes,
            throttled_us: usage.throttled.map(micros),
            oom_kills: usage.oom_kills,
        }
    }
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
