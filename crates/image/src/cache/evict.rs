//! Making room: the least recently used entries go, unless they are in use. So do those that cannot be read: an image can be
//! pulled again, but one damaged entry must not keep others out.

use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::entry::Marker;
use super::lock::{Lock, open_directory, try_lock};
use super::staging::Staging;
use super::{CacheError, DISK, IMAGES, failed};

/// Removes entries until the rest takes at most `limit_bytes`, or all that are left are in use.
pub(super) fn evict(cache: &Path, limit_bytes: u64) -> Result<(), CacheError> {
    // Moving away needs the lock, removing the files does not: that happens when these are dropped.
    let mut retired = Vec::new();
    let lock = Lock::take(cache)?;
    let mut entries = Vec::new();
    for path in paths(&cache.join(IMAGES))? {
        match Entry::read(path.clone()) {
            Ok(entry) => entries.push(entry),
            Err(error) => retired.extend(retire_damaged(cache, &path, &error)),
        }
    }
    entries.sort_by(|a, b| {
        a.last_used
            .cmp(&b.last_used)
            .then_with(|| a.path.cmp(&b.path))
    });
    let mut total: u64 = entries.iter().map(|entry| entry.bytes).sum();
    for entry in entries {
        if total <= limit_bytes {
            break;
        }
        if let Some(unused) = entry.lock()? {
            retired.push(Staging::retire(cache, &entry.path, unused)?);
            total = total.saturating_sub(entry.bytes);
        }
    }
    drop(lock);
    if total > limit_bytes {
        tracing::warn!(
            cache.bytes = total,
            cache.limit_bytes = limit_bytes,
            "images in use exceed the cache's limit"
        );
    }
    Ok(())
}

#[derive(Debug)]
struct Entry {
    path: PathBuf,
    bytes: u64,
    last_used: SystemTime,
}

impl Entry {
    fn read(path: PathBuf) -> Result<Self, CacheError> {
        Ok(Self {
            bytes: Marker::read(&path)?.bytes.saturating_add(disk_bytes(&path)),
            last_used: Marker::last_used(&path)?,
            path,
        })
    }

    /// The entry's handle, exclusively locked; `None` when somebody uses it.
    fn lock(&self) -> Result<Option<OwnedFd>, CacheError> {
        match open_directory(&self.path)? {
            Some(fd) if try_lock(&fd, &self.path)? => Ok(Some(fd)),
            _ => Ok(None),
        }
    }
}

fn paths(images: &Path) -> Result<Vec<PathBuf>, CacheError> {
    let entries = std::fs::read_dir(images).map_err(failed("list", images))?;
    entries
        .map(|entry| Ok(entry.map_err(failed("list", images))?.path()))
        .collect()
}

/// Moves an entry out of sight that does not say what it is, unless somebody uses it. The caller holds the cache's lock.
pub(super) fn retire_damaged(cache: &Path, path: &Path, error: &CacheError) -> Option<Staging> {
    let retired = if error.is_damage() {
        let unused = open_directory(path).ok().flatten();
        unused
            .filter(|fd| try_lock(fd, path).unwrap_or(false))
            .and_then(|unused| Staging::retire(cache, path, unused).ok())
    } else {
        None
    };
    let became = if retired.is_some() { "removed" } else { "left" };
    tracing::warn!(
        path = %path.display(),
        error = error as &dyn std::error::Error,
        "an entry of the cache cannot be read and is {became}"
    );
    retired
}

/// What the entry's disk takes besides; most of it may be holes.
fn disk_bytes(entry: &Path) -> u64 {
    const UNIT: u64 = 512;
    std::fs::metadata(entry.join(DISK)).map_or(0, |metadata| metadata.blocks() * UNIT)
}
