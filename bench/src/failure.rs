//! Why a measurement could not be made.

use std::io;

use kiln_kernel::Status;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("the store failed: {0}")]
    Store(#[from] kiln_store::Error),
    #[error("the sandbox failed: {0}")]
    Sandbox(#[from] kiln_sandbox::Error),
    #[error("SQLite failed: {0}")]
    Sqlite(#[from] rusqlite::Error),
    #[error("the kernel failed: {0}")]
    Kernel(#[from] Status),
    #[error("cannot {what}: {source}")]
    Io { what: String, source: io::Error },
    #[error("the report does not become JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("bench/{workspace} cannot be used: {why}")]
    Aside {
        workspace: &'static str,
        why: String,
    },
    /// The measured code did not do what it was asked to do, so its speed means nothing.
    #[error("{0}")]
    Wrong(String),
}

impl Failure {
    pub(crate) fn io(what: impl Into<String>, source: io::Error) -> Self {
        Self::Io {
            what: what.into(),
            source,
        }
    }
}
