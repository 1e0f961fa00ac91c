//! Specs and runners.

use serde::{Deserialize, Serialize};

use super::isolation::SANDBOX;
use super::{DateTime, Isolation, RunnerMetadata, UnknownIsolation};
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
    /// Ours: how far its jobs are kept from their host, at least: an [`Isolation`] by name, for a runner to refuse by name what
    /// it does not know. Without it, what `sandbox` says. See [`Spec::wanted_isolation`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<String>,
}

impl Spec {
    /// The least that keeps its jobs from their host, or `None` for whatever a runner gives of itself. `sandbox` is one way to
    /// ask; of both, the stronger counts.
    pub fn wanted_isolation(&self) -> Result<Option<Isolation>, UnknownIsolation> {
        let by_sandbox = match self.sandbox.as_deref() {
            None => None,
            Some(SANDBOX) => Some(Isolation::Microvm),
            Some(other) => return Err(UnknownIsolation::new(other)),
        };
        let by_name = self.isolation.as_deref().map(str::parse).transpose()?;
        Ok(by_sandbox.max(by_name))
    }
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
    /// Ours: see [`Spec::isolation`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
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
        assert!(!spec.shared && spec.isolation.is_none());
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
        let ours = NewSpec {
            shared: true,
            isolation: Some(Isolation::Microvm),
            ..spec
        };
        let text = serde_json::to_string(&ours).unwrap();
        assert!(text.contains(r#""shared":true"#), "{text}");
        assert!(text.contains(r#""isolation":"microvm""#), "{text}");
    }

    /// One as stock servers answer it, with more.
    fn spec(more: &serde_json::Value) -> Spec {
        let mut spec = serde_json::json!({
            "uuid": "01a1de46-fdad-7912-a8a2-2e3d0220bd88", "name": "s", "slug": "s", "os": "linux", "architecture": "x86_64",
            "sandbox": null, "cpu": 1, "memory": 1, "disk": 1, "network": false, "fallback": null,
            "created": "2026-11-15T08:15:56Z", "modified": "2026-11-15T08:15:56Z", "archived": null,
        });
        let fields = spec.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        serde_json::from_value(spec).unwrap()
    }

    #[test]
    fn a_spec_that_asks_for_no_isolation_does_not_speak_of_it() {
        let stock = spec(&serde_json::json!({}));
        assert_eq!(stock.wanted_isolation(), Ok(None));
        let text = serde_json::to_string(&stock).unwrap();
        assert!(!text.contains("isolation"), "{text}");
    }

    #[test]
    fn a_sandbox_is_one_way_to_ask_for_a_machine_and_the_stronger_way_counts() {
        let wanted = |sandbox: Option<&str>, isolation: Option<&str>| {
            let asked = serde_json::json!({"sandbox": sandbox, "isolation": isolation});
            spec(&asked).wanted_isolation().unwrap()
        };
        assert_eq!(wanted(Some("firecracker"), None), Some(Isolation::Microvm));
        assert_eq!(wanted(None, Some("namespace")), Some(Isolation::Namespace));
        assert_eq!(
            wanted(Some("firecracker"), Some("namespace")),
            Some(Isolation::Microvm)
        );
        assert_eq!(
            wanted(Some("firecracker"), Some("firecracker")),
            Some(Isolation::Firecracker)
        );
    }

    #[test]
    fn what_nobody_knows_is_not_taken_for_nothing() {
        for field in ["sandbox", "isolation"] {
            let asked = spec(&serde_json::json!({ field: "glass" }));
            let error = asked.wanted_isolation().unwrap_err();
            assert_eq!(error.name, "glass");
        }
    }
}
