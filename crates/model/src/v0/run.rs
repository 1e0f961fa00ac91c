//! Submitting a run, and the report that answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    Adapter, Alert, Benchmark, Boundary, DateTime, Measure, NewModel, NewPaired, PairedOutcome,
    Project, Spec, StoredMetric, ThresholdSummary, object,
};
use crate::{
    BranchName, BranchUuid, GitHash, HeadUuid, JobUuid, ProjectUuid, ReportUuid, ResourceName,
    Slug, TestbedUuid, UserUuid,
};

/// `POST /v0/run`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewRun {
    /// A UUID or a slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// A UUID, a slug or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<BranchName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub start_point: Option<StartPoint>,
    /// A UUID, a slug or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<ResourceName>,
    /// Whether the testbed forgets the spec that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec_reset: Option<bool>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub thresholds: Option<RunThresholds>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<String>>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub settings: Option<Settings>,
    /// Where the run comes from, as the client found out: keys begin with `bencher.dev/v0/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<BTreeMap<String, String>>,
    /// What a runner is to execute.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub job: Option<NewRunJob>,
    /// The older form of `job`: a digest, or an OCI reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The older form of `job.spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
}

/// Where a branch begins when it is new, or again when it is reset.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StartPoint {
    /// A UUID, a slug or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_versions: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clone_thresholds: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

/// The thresholds of a run's branch and testbed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunThresholds {
    /// By measure.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional_each"
    )]
    pub models: Option<BTreeMap<String, NewModel>>,
    /// Whether measures that are not listed lose their models.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset: Option<bool>,
}

/// `POST /v0/projects/{project}/reports`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewReport {
    /// A UUID, a slug or a name; an unknown name is created.
    pub branch: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<GitHash>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub start_point: Option<StartPoint>,
    pub testbed: String,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub thresholds: Option<RunThresholds>,
    pub start_time: DateTime,
    pub end_time: DateTime,
    pub results: Vec<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub settings: Option<Settings>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapter: Option<Adapter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub average: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fold: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NewRunJob {
    /// An OCI reference.
    pub image: String,
    /// A UUID or a slug.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entrypoint: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_paths: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build_time: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_size: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iter: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_failure: Option<bool>,
    /// When the report is to say that it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backdate: Option<DateTime>,
    /// Ours: another image is compared with this one, in turns on one host.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "object::optional"
    )]
    pub paired: Option<NewPaired>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    pub uuid: ReportUuid,
    pub user: Option<UserSummary>,
    pub project: Project,
    pub branch: Branch,
    pub testbed: Testbed,
    pub start_time: DateTime,
    pub end_time: DateTime,
    pub adapter: Adapter,
    /// Lists leave results and alerts out unless they are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<Vec<ReportResult>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alerts: Option<Vec<Alert>>,
    pub counts: ReportCounts,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<JobUuid>,
    pub created: DateTime,
    /// Ours: pending, running, ready, invalid, failed, canceled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Ours: why the report is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Ours: how two images compare; the results are those of the head.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paired: Option<Box<PairedOutcome>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportCounts {
    /// For each iteration.
    pub results: Vec<ResultCounts>,
    pub alerts: AlertCounts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultCounts {
    pub benchmarks: u32,
    pub measures: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertCounts {
    pub total: u32,
    pub active: u32,
}

/// The metrics of one benchmark in one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportResult {
    pub iteration: u32,
    pub benchmark: Benchmark,
    pub measures: Vec<ReportMeasure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportMeasure {
    pub measure: Measure,
    pub metric: StoredMetric,
    pub threshold: Option<ThresholdSummary>,
    pub boundary: Option<Boundary>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metric {
    pub value: f64,
    #[serde(default)]
    pub lower_value: Option<f64>,
    #[serde(default)]
    pub upper_value: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSummary {
    pub uuid: UserUuid,
    pub name: ResourceName,
    pub slug: Slug,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Branch {
    pub uuid: BranchUuid,
    pub project: ProjectUuid,
    pub name: BranchName,
    pub slug: Slug,
    pub head: Head,
    pub created: DateTime,
    pub modified: DateTime,
    pub archived: Option<DateTime>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    pub uuid: HeadUuid,
    #[serde(default)]
    pub start_point: Option<HeadStart>,
    pub version: Option<Version>,
    pub created: DateTime,
    pub replaced: Option<DateTime>,
}

/// The version of another head that a head began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadStart {
    pub branch: BranchUuid,
    pub head: HeadUuid,
    pub version: Version,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    pub number: u32,
    pub hash: Option<GitHash>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Testbed {
    pub uuid: TestbedUuid,
    pub project: ProjectUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub spec: Option<Spec>,
    pub created: DateTime,
    pub modified: DateTime,
    pub archived: Option<DateTime>,
}
