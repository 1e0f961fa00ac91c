//! Submitting a run, and the report that answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Adapter, DateTime, Project, Spec};
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
    /// A UUID, a slug or a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub testbed: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_time: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_time: Option<DateTime>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub results: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<Settings>,
    /// Where the run comes from, as the client found out: keys begin with `bencher.dev/v0/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<BTreeMap<String, String>>,
    /// What a runner is to execute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<NewRunJob>,
    /// The older form of `job`: a digest, or an OCI reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The older form of `job.spec`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
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
    pub results: Vec<Vec<ReportResult>>,
    pub job: Option<JobUuid>,
    pub created: DateTime,
    /// Ours: pending, running, ready, invalid, failed, canceled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    /// Ours: why the report is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The metrics of one benchmark in one iteration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportResult {
    pub iteration: u32,
    pub benchmark: String,
    pub measures: Vec<ReportMeasure>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReportMeasure {
    pub measure: String,
    pub metric: Metric,
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
    pub version: Option<Version>,
    pub created: DateTime,
    pub replaced: Option<DateTime>,
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
