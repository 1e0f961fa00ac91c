//! Wire types of the bench door. Field names and optional fields are those of stock clients.

mod channel;
mod datetime;
mod insight;
mod job;
mod patched;
mod perf;
mod run;
mod spec;

pub use channel::{RunnerMessage, RunnerMetadata, ServerMessage};
pub use datetime::DateTime;
pub use insight::{
    Alert, AlertPatch, AlertSummary, Benchmark, Boundary, DimensionPatch, Measure, Model,
    NewBenchmark, NewBranch, NewMeasure, NewModel, NewTestbed, NewThreshold, StoredMetric,
    Threshold, ThresholdSummary, ThresholdUpdate,
};
pub use job::{ClaimedJob, IterationOutput, Job, JobConfig, JobEvent, JobOutput};
pub use patched::Patched;
pub use perf::{
    ChangePoint, CompareLine, CompareReport, NewPlot, OneMetric, Perf, PerfLine, PerfMetric, Plot,
    PlotPatch,
};
pub use run::{
    Adapter, AlertCounts, Branch, Head, HeadStart, Metric, NewReport, NewRun, NewRunJob, Project,
    Report, ReportCounts, ReportMeasure, ReportResult, ResultCounts, RunThresholds, Settings,
    StartPoint, Testbed, UserSummary, Version,
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
