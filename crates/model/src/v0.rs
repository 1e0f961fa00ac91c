//! Wire types of the bench door. Field names and optional fields are those of stock clients.

mod channel;
mod datetime;
mod job;
mod job_channel;
mod run;
mod spec;

pub use channel::{RunnerMessage, RunnerMetadata, ServerMessage};
pub use datetime::DateTime;
pub use job::{Blocker, ClaimedJob, IterationOutput, Job, JobConfig, JobEvent, JobOutput, Waiting};
pub use job_channel::{ClaimRequest, JobMessage, PullToken};
pub use run::{
    Adapter, Branch, Head, Metric, NewRun, NewRunJob, Project, Report, ReportMeasure, ReportResult,
    Settings, Testbed, UserSummary, Version,
};
pub use spec::{
    Architecture, NewRunner, NewSpec, OperatingSystem, Runner, RunnerKey, Spec, SpecRef,
};

use serde::{Deserialize, Serialize};

/// The body of every error answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorBody {
    pub request_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    pub message: String,
}

/// `GET /v0/server/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    pub version: String,
}
