//! Specs and runners.

use serde::{Deserialize, Serialize};

use super::{DateTime, RunnerMetadata};
use crate::{ResourceName, RunnerUuid, Slug, SpecUuid};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperatingSystem {
    Linux,
    Macos,
    Windows,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    #[serde(rename = "x86_64")]
    X86_64,
    #[serde(rename = "aarch64")]
    Aarch64,
}

/// A hardware shape, as it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spec {
    pub uuid: SpecUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub os: OperatingSystem,
    pub architecture: Architecture,
    pub sandbox: Option<String>,
    pub cpu: u32,
    pub memory: u64,
    pub disk: u64,
    pub network: bool,
    pub fallback: Option<DateTime>,
    pub created: DateTime,
    pub modified: DateTime,
    pub archived: Option<DateTime>,
    /// Ours: its jobs may share a runner with others. Without it, each has its runner to itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewSpec {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    pub os: OperatingSystem,
    pub architecture: Architecture,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    pub cpu: u32,
    pub memory: u64,
    pub disk: u64,
    #[serde(default)]
    pub network: bool,
    #[serde(default)]
    pub fallback: bool,
    /// Ours: see [`Spec::shared`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}

/// Hardware never changes: a job that ran on a spec ran on exactly that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Runner {
    pub uuid: RunnerUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub specs: Vec<SpecUuid>,
    pub archived: Option<DateTime>,
    pub last_heartbeat: Option<DateTime>,
    pub created: DateTime,
    pub modified: DateTime,
    /// Ours: whether it is there, and has something to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunnerState>,
    /// Ours: since when it is given nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<DateTime>,
    /// Ours: what it last told about itself and its host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RunnerMetadata>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunnerState {
    /// Never heard, or not for a while.
    Away,
    Idle,
    /// It holds a job.
    Busy,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewRunner {
    pub name: ResourceName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateRunner {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<ResourceName>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<Slug>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// Ours: whether it is to be given nothing more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draining: Option<bool>,
}

/// Answered once, when a runner is made or its key rotated.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerKey {
    pub uuid: RunnerUuid,
    pub key: String,
}

impl std::fmt::Debug for RunnerKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerKey")
            .field("uuid", &self.uuid)
            .finish_non_exhaustive()
    }
}

/// The longer form of a runner's credential. Answered once; the key it replaces is dead.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct RunnerToken {
    pub uuid: RunnerUuid,
    pub token: String,
}

impl std::fmt::Debug for RunnerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerToken")
            .field("uuid", &self.uuid)
            .finish_non_exhaustive()
    }
}

/// `POST /v0/runners/{runner}/specs`: a UUID or a slug.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpecRef {
    pub spec: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_of_its_own_reads_and_is_written_as_stock_ones() {
        let text = r#"{"name":"s","os":"linux","architecture":"x86_64","cpu":1,"memory":1,"disk":1,"network":false,"fallback":false}"#;
        let spec: NewSpec = serde_json::from_str(text).unwrap();
        assert!(!spec.shared);
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
        let shared = NewSpec {
            shared: true,
            ..spec
        };
        let text = serde_json::to_string(&shared).unwrap();
        assert!(text.contains(r#""shared":true"#), "{text}");
    }
}
