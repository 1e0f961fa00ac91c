//! What an agent needs to know.

use std::fmt;
use std::path::PathBuf;

use kiln_model::Slot;

use super::AgentError;
use crate::channel::Target;

/// A runner's identity and place.
#[derive(Clone)]
pub struct AgentConfig {
    /// Where the server is: `http://` or `https://`.
    pub server_url: String,
    /// The runner's UUID or slug.
    pub runner: String,
    pub key: String,
    /// For the spool. One agent at a time.
    pub data_dir: PathBuf,
}

impl AgentConfig {
    pub(super) fn target(&self, slot: Slot) -> Result<Target, AgentError> {
        Target::new(&self.server_url, &self.runner, &self.key, slot)
    }
}

impl fmt::Debug for AgentConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentConfig")
            .field("server_url", &self.server_url)
            .field("runner", &self.runner)
            .field("data_dir", &self.data_dir)
            .finish_non_exhaustive()
    }
}
