//! Wire types of the bench door. Field names and optional fields are those of stock clients.

mod adapter;
mod channel;
mod conditions;
mod datetime;
mod image;
mod insight;
mod isolation;
mod job;
mod job_channel;
mod key;
mod large;
mod live;
mod named;
mod noise;
mod object;
mod paired;
mod patched;
mod people;
mod perf;
mod project;
mod run;
mod server;
mod spec;

pub use adapter::{Adapter, UnknownAdapter};
pub use channel::{HostFacts, RunnerMessage, RunnerMetadata, SLOTS_HEADER, ServerMessage};
pub use conditions::{
    Conditions, CpuSample, Ended, Frequency, IterationUsage, Pressure, SealedLayer, StageTimes,
    Truncated,
};
pub use datetime::DateTime;
pub use image::Image;
pub use insight::{
    Alert, AlertPatch, AlertSummary, Benchmark, Boundary, DimensionPatch, Measure, Model,
    NewBenchmark, NewBranch, NewMeasure, NewModel, NewTestbed, NewThreshold, StoredMetric,
    Threshold, ThresholdSummary, ThresholdUpdate,
};
pub use isolation::{Isolation, UnknownIsolation};
pub use job::{Blocker, ClaimedJob, IterationOutput, Job, JobConfig, JobEvent, JobOutput, Waiting};
pub use job_channel::{ClaimRequest, JobMessage, PullToken};
pub use key::{CreatedProjectKey, CreatedUserKey, NewKey, ProjectKey, UpdateKey, UserKey};
pub use large::{LargeOutput, LargeText, OUTPUT_LIMIT_HEADER, TextKind, UploadProgress};
pub use live::{LIVE_OUTPUT_HEADER, LiveText};
pub use noise::{CoreSplit, Knob, KnobState, NoiseProbe, NoiseReceipt};
pub use paired::{NewPaired, PairedConfig, PairedLine, PairedOutcome, PairedTurns};
pub use patched::Patched;
pub use people::{
    Allowed, Invited, Member, NewMember, NewOrganization, NewUser, Organization, Permission, Plan,
    PlanLevel, Role, UpdateMember, UpdateOrganization, UpdatePlan, UpdateUser, Usage, UsageKind,
    User,
};
pub use perf::{
    ChangePoint, CompareLine, CompareReport, NewPlot, NotCompared, OneMetric, Perf, PerfLine,
    PerfMetric, Plot, PlotPatch,
};
pub use project::{NewProject, Project, UpdateProject, Visibility};
pub use run::{
    AlertCounts, Branch, Head, HeadStart, Metric, NewReport, NewRun, NewRunJob, Report,
    ReportCounts, ReportMeasure, ReportResult, ResultCounts, RunThresholds, Settings, StartPoint,
    Testbed, UserSummary, Version,
};
pub use server::{
    AuditEntry, Backup, ConsoleConfig, JobCounts, NewBackup, ServerConfig, ServerStats,
    ServerVersion,
};
pub use spec::{
    Architecture, NewRunner, NewSpec, OperatingSystem, Runner, RunnerKey, RunnerState, RunnerToken,
    Spec, SpecRef, UpdateRunner, UpdateSpec,
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
