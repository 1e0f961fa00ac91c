//! What can go wrong below the use cases.

use serde::{Deserialize, Serialize};

/// A failure of the store. Unless it says otherwise, nothing was committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// The engine refused the statement: a constraint, a lock, a full disk, a lost connection.
    #[error("the database refused: {message}")]
    Database {
        kind: DatabaseErrorKind,
        message: String,
    },
    /// Stored data that cannot be what it should be.
    #[error("stored data is corrupt: {what}")]
    Corrupt { what: String },
    /// The database is newer, foreign, or owned by another process; the text says which and what to do.
    #[error("{0}")]
    Refused(String),
    /// The ledger has stopped: a failed fsync, or a shutdown. What was under way may or may not be committed.
    #[error("the ledger is closed")]
    Closed,
    /// The answer to a COMMIT was lost and the database could not be asked again: it may or may not be committed.
    #[error("the outcome of the commit is unknown: {message}")]
    Unresolved { message: String },
    /// A closure panicked. It alone was rolled back.
    #[error("a closure panicked: {message}")]
    Panicked { message: String },
    #[error("the object store failed: {message}")]
    Object {
        kind: ObjectErrorKind,
        message: String,
    },
}

impl Error {
    pub(crate) fn database(kind: DatabaseErrorKind, message: impl Into<String>) -> Self {
        Self::Database {
            kind,
            message: message.into(),
        }
    }

    /// Whether running the same closure again, in a transaction of its own, may go better.
    pub(crate) fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::Database {
                kind: DatabaseErrorKind::Conflict,
                ..
            }
        )
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DatabaseErrorKind {
    /// A unique, foreign-key or check constraint.
    Constraint,
    /// Another transaction was in the way; running again may help.
    Conflict,
    /// No space left.
    Full,
    /// An I/O error, a lost connection.
    Io,
    Other,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ObjectErrorKind {
    NotFound,
    /// The bytes do not hash to their name.
    Corrupt,
    Full,
    Io,
    Other,
}
