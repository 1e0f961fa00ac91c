//! Locks that die with their owner.

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, Timespec, Timestamps, UTIME_NOW};
use rustix::io::Errno;

use super::{CacheError, failed};

const LOCK_FILE: &str = "lock";

const NANOS_LAST: i64 = 999_999_999;

/// The lock of a whole cache, held for moments.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    pub(super) fn take(cache: &Path) -> Result<Self, CacheError> {
        let path = cache.join(LOCK_FILE);
        let file = File::options()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed("open", &path))?;
        flock(&file, FlockOperation::LockExclusive, &path)?;
        Ok(Self { file, path })
    }

    /// A time later than every one given before, near the file system's own. Uses are put in order
    /// by it: two within one tick of the clock, or on both sides of a clock set back, stay in order.
    pub(super) fn tick(&self) -> Result<Timespec, CacheError> {
        let set = |time| {
            let times = Timestamps {
                last_access: time,
                last_modification: time,
            };
            rustix::fs::futimens(&self.file, &times).map_err(failed("touch", &self.path))
        };
        let get = || {
            let status = rustix::fs::fstat(&self.file).map_err(failed("read", &self.path))?;
            let nanos = i64::try_from(status.st_mtime_nsec).unwrap_or_default();
            Ok::<_, CacheError>(Timespec {
                tv_sec: status.st_mtime,
                tv_nsec: nanos,
            })
        };
        let last = get()?;
        set(Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_NOW,
        })?;
        let now = get()?;
        if now > last {
            return Ok(now);
        }
        let next = match last.tv_nsec {
            NANOS_LAST => Timespec {
                tv_sec: last.tv_sec + 1,
                tv_nsec: 0,
            },
            nanos => Timespec {
                tv_sec: last.tv_sec,
                tv_nsec: nanos + 1,
            },
        };
        set(next)?;
        Ok(next)
    }
}

/// Locks or waits.
pub(super) fn flock(
    fd: impl AsFd,
    operation: FlockOperation,
    path: &Path,
) -> Result<(), CacheError> {
    loop {
        match rustix::fs::flock(fd.as_fd(), operation) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map_err(failed("lock", path)),
        }
    }
}

/// Locks for oneself alone if nobody else has it.
pub(super) fn try_lock(fd: impl AsFd, path: &Path) -> Result<bool, CacheError> {
    match flock(fd, FlockOperation::NonBlockingLockExclusive, path) {
        Ok(()) => Ok(true),
        Err(CacheError::Io { source, .. }) if source.kind() == std::io::ErrorKind::WouldBlock => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// A directory's handle; `None` when there is no such directory.
pub(super) fn open_directory(path: &Path) -> Result<Option<OwnedFd>, CacheError> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(fd) => Ok(Some(fd)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(failed("open", path)(error)),
    }
}
