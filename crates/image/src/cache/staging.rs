//! Directories for what is not finished, and their removal.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, RenameFlags};

use super::lock::{Lock, flock, open_directory, try_lock};
use super::{CacheError, failed};
use crate::remove::remove_all;

const PREFIX: &str = "tmp-";

/// A directory that is gone when dropped.
#[derive(Debug)]
pub struct Staging {
    path: PathBuf,
    /// Holds the lock; `None` once the directory is published.
    directory: Option<OwnedFd>,
}

impl Staging {
    pub(super) fn new(cache: &Path) -> Result<Self, CacheError> {
        let _lock = Lock::take(cache)?;
        let path = fresh_directory(cache)?;
        let directory = open_directory(&path)?;
        if let Some(fd) = &directory {
            flock(fd, FlockOperation::LockExclusive, &path)?;
        }
        Ok(Self { path, directory })
    }

    /// Moves an entry out of sight. The caller holds the cache's lock and the entry's, which goes
    /// with the handle.
    pub(super) fn retire(cache: &Path, path: &Path, entry: OwnedFd) -> Result<Self, CacheError> {
        // An empty directory keeps the name free until the entry takes its place.
        let retired = fresh_directory(cache)?;
        std::fs::rename(path, &retired).map_err(failed("move away", path))?;
        Ok(Self {
            path: retired,
            directory: Some(entry),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Brings everything written so far to the disk. One call for the file system is far cheaper
    /// than one for each of an image's files.
    pub(super) fn sync(&self) -> Result<(), CacheError> {
        match &self.directory {
            Some(fd) => rustix::fs::syncfs(fd).map_err(failed("write out", &self.path)),
            None => Ok(()),
        }
    }

    /// Makes the directory a visible entry and keeps it in use. The cache's lock is held, so no
    /// eviction comes between the exclusive lock and the shared one.
    pub(super) fn publish(mut self, path: &Path) -> Result<OwnedFd, CacheError> {
        let cwd = rustix::fs::CWD;
        rustix::fs::renameat_with(cwd, &self.path, cwd, path, RenameFlags::NOREPLACE)
            .map_err(failed("move into place", path))?;
        let directory = self
            .directory
            .take()
            .expect("only publishing takes the handle");
        flock(&directory, FlockOperation::LockShared, path)?;
        if let Some(above) = path.parent()
            && let Some(fd) = open_directory(above)?
        {
            rustix::fs::fsync(&fd).map_err(failed("write out", above))?;
        }
        Ok(directory)
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.directory.is_some()
            && let Err(error) = remove(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "cannot remove, the next start will");
        }
    }
}

/// Removes what nobody holds a lock on any more.
pub(super) fn sweep(cache: &Path) -> Result<(), CacheError> {
    let _lock = Lock::take(cache)?;
    for entry in std::fs::read_dir(cache).map_err(failed("list", cache))? {
        let entry = entry.map_err(failed("list", cache))?;
        if !entry.file_name().as_bytes().starts_with(PREFIX.as_bytes()) {
            continue;
        }
        let path = entry.path();
        if let Some(fd) = open_directory(&path)?
            && try_lock(&fd, &path)?
        {
            remove(&path)?;
        }
    }
    Ok(())
}

fn fresh_directory(cache: &Path) -> Result<PathBuf, CacheError> {
    let directory = tempfile::Builder::new()
        .prefix(PREFIX)
        .tempdir_in(cache)
        .map_err(failed("write in", cache))?;
    Ok(directory.keep())
}

fn remove(path: &Path) -> Result<(), CacheError> {
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let Some(above_fd) = open_directory(above)? else {
        return Ok(());
    };
    remove_all(&above_fd, name.as_bytes()).map_err(failed("remove", path))
}
