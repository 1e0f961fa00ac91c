//! Wire types of the bench door. Field names and optional fields are those of stock clients.

mod channel;
mod conditions;
mod datetime;
mod job;
mod noise;
mod run;
mod spec;

pub use channel::{RunnerMessage, RunnerMetadata, ServerMessage};
pub use conditions::{
    Conditions, CpuSample, Frequency, IterationUsage, Pressure, SealedLayer, StageTimes, Truncated,
};
pub use datetime::DateTime;
pub use job::{ClaimedJob, IterationOutput, Job, JobConfig, JobEvent, JobOutput};
pub use noise::{CoreSplit, Knob, KnobState, NoiseProbe, NoiseReceipt};
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
