//! The registry over an open store.

use std::fmt;

use kiln_store::Store;

use crate::pieces::Pieces;

/// No layer comes near it; without a limit one endless upload fills the disk.
pub const MAX_BLOB_BYTES: u64 = 10 * 1024 * 1024 * 1024;

/// Cheap to clone.
#[derive(Clone)]
pub struct Registry {
    pub(crate) store: Store,
    pub(crate) pieces: Pieces,
}

/// A repository of a known project. It need not have anything in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub project: i64,
    /// The path below the project's name; empty for the project's own.
    pub path: String,
}

impl Registry {
    pub fn new(store: Store) -> Self {
        let pieces = Pieces::new(store.objects.clone());
        Self { store, pieces }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").finish_non_exhaustive()
    }
}
