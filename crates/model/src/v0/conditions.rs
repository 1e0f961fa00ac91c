//! Under which conditions a job ran. It travels with the result and is kept with it.
//!
//! Figures are whole numbers with their unit in the name. A field this version does not know, or that has another shape
//! than it knows, is kept as it came: evidence of a newer runner is no reason to lose a result.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{NoiseReceipt, PairedTurns};
use crate::Digest;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Value")]
pub struct Conditions {
    /// How far the job was kept from its host, in the words of specs; `none` for a plain process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
    /// What gave that isolation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
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
    /// How quiet the host was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<NoiseReceipt>,
    /// Other jobs may have run on its runner meanwhile: how quiet the host was is not said, and its timings mean little.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
    /// How two images took turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedTurns>,
    /// What this version cannot read.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A layer of isolation or a limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SealedLayer {
    pub name: String,
    pub applied: bool,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// How long each stage took. Only the last is measured or billed time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageTimes {
    pub pull_ms: u64,
    pub unpack_ms: u64,
    pub prepare_ms: u64,
    pub run_ms: u64,
}

/// What one iteration used. A figure is absent where the host does not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IterationUsage {
    /// How its command ended; absent from runners that do not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// The signal that killed it, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
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
    /// Time that a hypervisor gave to others while this host wanted to run, over all CPUs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steal_us: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency: Option<Frequency>,
    /// CPU time used so far, every five seconds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpu_samples: Vec<CpuSample>,
}

/// Why a command is no longer running. Its exit code alone does not say: a shell that exits with 137 is not killed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    Exited,
    Signaled,
    TimedOut,
    Canceled,
    /// It failed, and the kernel had killed a process of it at the memory limit.
    OutOfMemory,
    /// It failed, and there was no room left on its disk.
    DiskFull,
    /// In the words of a newer runner.
    #[serde(untagged)]
    Other(String),
}

/// How long some task waited for a resource (PSI, `some`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pressure {
    /// Whether the figures are of the whole host, because it has none for a single chamber.
    pub host_wide: bool,
    pub cpu_us: u64,
    pub memory_us: u64,
    pub io_us: u64,
}

/// The clock of the slowest and the fastest CPU the iteration could run on, at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Frequency {
    pub lowest_khz: u64,
    pub highest_khz: u64,
}

/// CPU time that was used from the start to a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CpuSample {
    /// Since the command's start.
    pub at_ms: u64,
    pub cpu_us: u64,
}

/// What did not fit into the message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
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

impl From<Value> for Conditions {
    fn from(value: Value) -> Self {
        let mut other = match value {
            Value::Object(fields) => fields,
            Value::Null => Map::new(),
            stranger @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
                Map::from_iter([("value".to_owned(), stranger)])
            }
        };
        Self {
            isolation: take(&mut other, "isolation"),
            backend: take(&mut other, "backend"),
            layers: take(&mut other, "layers"),
            image: take(&mut other, "image"),
            cached: take(&mut other, "cached"),
            stages: take(&mut other, "stages"),
            iterations: take(&mut other, "iterations"),
            truncated: take(&mut other, "truncated"),
            noise: take(&mut other, "noise"),
            shared: take(&mut other, "shared"),
            paired: take(&mut other, "paired"),
            other,
        }
    }
}

/// A field as its type, taken out; one of another shape stays.
fn take<T: Default + for<'de> Deserialize<'de>>(fields: &mut Map<String, Value>, name: &str) -> T {
    let Some(value) = fields.get(name) else {
        return T::default();
    };
    match T::deserialize(value) {
        Ok(read) => {
            fields.remove(name);
            read
        }
        Err(_) => T::default(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(value: &Value) -> Conditions {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let written = Conditions {
            isolation: Some("microvm".to_owned()),
            backend: Some("qemu".to_owned()),
            cached: true,
            shared: true,
            iterations: vec![IterationUsage {
                ended: Some(Ended::Signaled),
                signal: Some(9),
                wall_us: 7,
                cpu_samples: vec![CpuSample {
                    at_ms: 5000,
                    cpu_us: 4_900_000,
                }],
                ..IterationUsage::default()
            }],
            ..Conditions::default()
        };
        assert_eq!(read(&serde_json::to_value(&written).unwrap()), written);
    }

    #[test]
    fn a_field_of_a_newer_runner_is_kept_as_it_came() {
        let newer = json!({"isolation": "namespace", "cached": false, "stages": {}, "moon_phase": ["full"]});
        let conditions = read(&newer);
        assert_eq!(conditions.other["moon_phase"], json!(["full"]));
        assert_eq!(
            serde_json::to_value(&conditions).unwrap()["moon_phase"],
            json!(["full"])
        );
    }

    #[test]
    fn a_field_of_another_shape_is_kept_and_costs_nothing_else() {
        let conditions = read(&json!({"isolation": "namespace", "iterations": "many"}));
        assert_eq!(conditions.isolation.as_deref(), Some("namespace"));
        assert!(conditions.iterations.is_empty());
        assert_eq!(conditions.other["iterations"], json!("many"));
    }

    #[test]
    fn an_end_in_the_words_of_a_newer_runner_is_kept() {
        let words = json!({"iterations": [{"ended": "out_of_memory"}, {"ended": "eaten"}, {}]});
        let conditions = read(&words);
        let ended = conditions.iterations.iter().map(|one| one.ended.clone());
        assert_eq!(
            ended.collect::<Vec<_>>(),
            [
                Some(Ended::OutOfMemory),
                Some(Ended::Other("eaten".to_owned())),
                None
            ]
        );
        let written = serde_json::to_value(&conditions).unwrap();
        assert_eq!(written["iterations"][1]["ended"], json!("eaten"));
        assert_eq!(written["iterations"][2].get("ended"), None);
    }

    #[test]
    fn conditions_that_are_no_object_are_kept_too() {
        assert_eq!(read(&json!("odd")).other["value"], json!("odd"));
    }
}
