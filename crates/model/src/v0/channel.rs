//! The messages of the runner channel. Unknown fields are ignored, so that old and new can talk.

use serde::{Deserialize, Serialize};

use super::{ClaimedJob, Conditions, IterationOutput, LargeOutput, LiveText};
use crate::JobUuid;

/// The header of a channel's answer in which a server says that it knows slots, and how many a runner may have. One that does
/// not would take the channel of a second slot for a newer one of the first.
pub const SLOTS_HEADER: &str = "kiln-slots";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum RunnerMessage {
    /// Idle, and asking for a job.
    Ready {
        /// Seconds, 1 to 900.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        poll_timeout: Option<u32>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        runner: Option<RunnerMetadata>,
    },
    /// Set-up is done; the benchmark starts.
    Running,
    Heartbeat,
    /// Ours: what the job has written since the last time. It is not answered.
    Output(LiveText),
    Completed {
        job: JobUuid,
        results: Vec<IterationOutput>,
        /// Ours: under which conditions it ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Box<Conditions>>,
        /// Ours: what was uploaded because it does not fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        large: Option<Box<LargeOutput>>,
    },
    Failed {
        job: JobUuid,
        #[serde(default)]
        results: Vec<IterationOutput>,
        error: String,
        /// Ours: under which conditions it ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Box<Conditions>>,
        /// Ours: what was uploaded because it does not fit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        large: Option<Box<LargeOutput>>,
    },
    Canceled {
        job: JobUuid,
        /// Ours: what the job had written until then.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        results: Vec<IterationOutput>,
        /// Ours: under which conditions it ran.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conditions: Option<Box<Conditions>>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunnerMetadata {
    pub os: String,
    pub arch: String,
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
    /// Ours: the machine it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostFacts>,
    /// Ours: how many jobs it carries at once, when that is not one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slots: Option<u32>,
}

/// What a runner tells about its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    pub name: String,
    /// The kernel's release.
    pub kernel: String,
    pub cpus: u64,
    pub memory_bytes: u64,
    /// How far its jobs are kept from it, in the words of specs; `none` for plain processes.
    pub isolation: String,
    /// What gives that isolation.
    pub backend: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum ServerMessage {
    Ack {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobUuid>,
    },
    Job(Box<ClaimedJob>),
    NoJob,
    Cancel,
    Update {
        version: String,
        url: String,
        checksum: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_read_as_recorded_from_stock_clients() {
        let ready: RunnerMessage =
            serde_json::from_str(r#"{"event":"ready","poll_timeout":5,"later":"field"}"#).unwrap();
        assert_eq!(
            ready,
            RunnerMessage::Ready {
                poll_timeout: Some(5),
                runner: None
            }
        );
        let bare: RunnerMessage = serde_json::from_str(r#"{"event":"ready"}"#).unwrap();
        assert_eq!(
            bare,
            RunnerMessage::Ready {
                poll_timeout: None,
                runner: None
            }
        );
        let failed: RunnerMessage = serde_json::from_str(
            r#"{"event":"failed","job":"01a1de48-2639-76f0-ac7d-6f226b3e8aa1","results":[],"error":"late"}"#,
        )
        .unwrap();
        assert!(matches!(failed, RunnerMessage::Failed { .. }));
    }

    #[test]
    fn a_piece_of_output_reads_as_it_was_written() {
        let text =
            r#"{"event":"output","iteration":0,"stream":"stdout","start":3,"text":"so far"}"#;
        let output: RunnerMessage = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&output).unwrap(), text);
    }

    #[test]
    fn messages_are_written_as_stock_clients_expect() {
        let job = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1".parse().unwrap();
        let ack = serde_json::to_string(&ServerMessage::Ack { job: Some(job) }).unwrap();
        assert_eq!(
            ack,
            r#"{"event":"ack","job":"01a1de48-2639-76f0-ac7d-6f226b3e8aa1"}"#
        );
        assert_eq!(
            serde_json::to_string(&ServerMessage::NoJob).unwrap(),
            r#"{"event":"no_job"}"#
        );
        assert_eq!(
            serde_json::to_string(&RunnerMessage::Heartbeat).unwrap(),
            r#"{"event":"heartbeat"}"#
        );
    }
}
