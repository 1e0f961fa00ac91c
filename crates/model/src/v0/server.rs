//! What a server says about itself.

use serde::{Deserialize, Serialize};

use super::DateTime;

/// `GET /v0/server/version`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerVersion {
    pub version: String,
}

/// `GET /v0/server/config/console`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsoleConfig {
    pub url: String,
}

/// `GET /v0/server/config`: what is in effect, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerConfig {
    pub console: ConsoleConfig,
    pub database: String,
    pub request_body_max_bytes: u64,
    pub heartbeat_timeout: u64,
    pub job_timeout_grace_period: u64,
    /// How much anybody may do in a while, as in the settings.
    pub rate_limits: String,
}

/// `GET /v0/server/stats`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerStats {
    pub timestamp: DateTime,
    pub users: i64,
    pub organizations: i64,
    pub projects: i64,
    pub reports: i64,
    pub runners: i64,
    pub specs: i64,
    pub jobs: JobCounts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobCounts {
    pub pending: i64,
    pub claimed: i64,
    pub running: i64,
    pub ended: i64,
}

/// One administrative change, in the order in which they were committed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub number: i64,
    pub at: DateTime,
    /// Who did it, such as `user:01a1…`.
    pub actor: String,
    /// What was done, such as `runner.key.rotate`.
    pub action: String,
    /// What it was done to, such as `runner:01a1…`.
    pub subject: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// `POST /v0/server/backup`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewBackup {
    #[serde(default)]
    pub compress: bool,
    /// Stock servers can put it elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_store: Option<String>,
    /// And remove it here.
    #[serde(default)]
    pub remove: bool,
}

/// A backup that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Backup {
    pub created: DateTime,
    /// Ours: its name in the server's directory of backups.
    pub file: String,
}
