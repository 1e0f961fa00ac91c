//! Jobs as the bench door shows them, and what a runner is told and says about one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Conditions, DateTime, LargeOutput, PairedConfig, Spec};
use crate::{Digest, JobUuid, ProjectUuid, RunnerUuid};

/// Stored at submission, sent at claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobConfig {
    pub registry: String,
    pub project: ProjectUuid,
    pub digest: Digest,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Seconds.
    pub timeout: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<DateTime>,
    /// Ours: another image takes turns with this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<PairedConfig>,
}

/// Everything a runner needs to execute a job.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ClaimedJob {
    pub uuid: JobUuid,
    pub spec: Spec,
    pub config: JobConfig,
    pub oci_token: String,
    pub timeout: u32,
    pub created: DateTime,
}

impl std::fmt::Debug for ClaimedJob {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClaimedJob")
            .field("uuid", &self.uuid)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub uuid: JobUuid,
    pub status: crate::Status,
    pub spec: Spec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<JobConfig>,
    // What has not happened yet is null, as stock servers have it.
    #[serde(default)]
    pub runner: Option<RunnerUuid>,
    #[serde(default)]
    pub claimed: Option<DateTime>,
    #[serde(default)]
    pub started: Option<DateTime>,
    #[serde(default)]
    pub completed: Option<DateTime>,
    pub created: DateTime,
    pub modified: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<JobOutput>,
    /// Ours: why it failed, was canceled, or could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Ours: the job that this one does again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<JobUuid>,
}

/// What a job's process wrote, iteration by iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobOutput {
    #[serde(default)]
    pub results: Vec<IterationOutput>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Ours: under which conditions it ran, as the runner tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Box<Conditions>>,
    /// Ours: texts that are longer than what is shown here, and where they lie in what the runner uploaded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub large: Option<Box<LargeOutput>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationOutput {
    pub exit_code: i32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stdout: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<BTreeMap<String, String>>,
}

/// Ours: one line of a job's timeline.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobEvent {
    pub number: i64,
    pub event: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<crate::Status>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<crate::Status>,
    pub epoch: i64,
    pub actor: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    pub at: DateTime,
}

/// Ours: why a job waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    pub status: crate::Status,
    pub blocker: Blocker,
    /// A sentence for people.
    pub detail: String,
    /// Its place among the jobs of its spec that can be claimed, from 1; absent when it does not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i64>,
    /// When it may begin, by how long the last jobs of its spec took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate_seconds: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blocker {
    None,
    /// Another job that shares its limit goes first.
    Limit,
    /// No runner serves its spec.
    NoRunner,
    /// Runners serve its spec, and none is connected.
    NoLiveRunner,
    RunnersBusy,
}
