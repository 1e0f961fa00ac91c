//! What a complete entry says of itself.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::time::SystemTime;

use kiln_model::Digest;
use rustix::fs::{AtFlags, Timestamps};
use serde::{Deserialize, Serialize};

use super::lock::Lock;
use super::{CacheError, failed};
use crate::ImageConfig;
use crate::limits::MAX_CONFIG_BYTES;

const MARKER: &str = "image.json";

/// The configuration and a few words around it.
const MAX_MARKER_BYTES: u64 = 2 * MAX_CONFIG_BYTES;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Marker {
    pub digest: Digest,
    /// About how much disk the entry takes.
    pub bytes: u64,
    pub config: ImageConfig,
}

impl Marker {
    pub(super) fn write(&self, entry: &Path) -> Result<(), CacheError> {
        let path = entry.join(MARKER);
        let bytes = serde_json::to_vec(self).expect("a marker has only text keys");
        File::create_new(&path)
            .and_then(|mut file| file.write_all(&bytes))
            .map_err(failed("write", &path))
    }

    pub(super) fn read(entry: &Path) -> Result<Self, CacheError> {
        let path = entry.join(MARKER);
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MAX_MARKER_BYTES).read_to_end(&mut bytes))
            .map_err(failed("read", &path))?;
        serde_json::from_slice(&bytes).map_err(|source| CacheError::Damaged { path, source })
    }

    pub(super) fn mark_used(entry: &Path, lock: &Lock) -> Result<(), CacheError> {
        let path = entry.join(MARKER);
        let now = lock.tick()?;
        let times = Timestamps {
            last_access: now,
            last_modification: now,
        };
        rustix::fs::utimensat(rustix::fs::CWD, &path, &times, AtFlags::empty())
            .map_err(failed("touch", &path))
    }

    pub(super) fn last_used(entry: &Path) -> Result<SystemTime, CacheError> {
        let path = entry.join(MARKER);
        std::fs::metadata(&path)
            .and_then(|metadata| metadata.modified())
            .map_err(failed("read", &path))
    }
}
