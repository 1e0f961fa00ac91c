//! The noise receipt: what was done to keep a host quiet while it measured, and how quiet it was.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoiseReceipt {
    /// Settings of the host, as they were found before and after the job: one that was not in effect both times was refused.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knobs: Vec<Knob>,
    /// Which cores were left to the system and which to the job; absent when the host has one core.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<CoreSplit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<NoiseProbe>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<NoiseProbe>,
    /// What disturbs this host as a whole: a hypervisor, a daemon that moves interrupts, and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What was seen to disturb this job: settings that others changed, time that a hypervisor took, and the like.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interference: Vec<String>,
}

/// One setting of the host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Knob {
    pub name: String,
    pub wanted: String,
    pub state: KnobState,
    /// What was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KnobState {
    /// Read back as wanted.
    InEffect,
    /// Read back as something else, or could not be written.
    Refused,
    /// This host has no such setting.
    #[default]
    Absent,
}

/// The cores that the runner may use, which need not be all that the host has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreSplit {
    pub housekeeping: Vec<u32>,
    pub benchmark: Vec<u32>,
}

/// A short measurement of the host itself: the same small piece of work, many times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NoiseProbe {
    /// How often the work was done.
    pub rounds: u32,
    pub median_ns: u64,
    /// How far the middle half of the rounds is apart, in millionths of the median.
    pub spread_ppm: u64,
    /// How much longer the slowest hundredth took than the median, in millionths of it.
    pub tail_ppm: u64,
    /// The longest the work was held up.
    pub worst_ns: u64,
    pub involuntary_switches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_us: Option<u64>,
    /// From 0 (useless for benchmarks) to 100 (still).
    pub score: u8,
}

impl NoiseReceipt {
    /// The knobs that are not as they should be.
    pub fn refused(&self) -> impl Iterator<Item = &Knob> {
        self.knobs
            .iter()
            .filter(|knob| knob.state == KnobState::Refused)
    }
}
