//! A directory that is another world's `/`: paths are resolved inside it and never leave it.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Resolving `..` fails with `EAGAIN` when anything on the host is renamed or mounted meanwhile.
const RESOLVE_ATTEMPTS: usize = 256;

/// An open root directory.
#[derive(Debug)]
pub(crate) struct Root {
    fd: OwnedFd,
}

impl Root {
    /// Opens the directory at a path that is ours; only paths inside it are foreign.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self {
            fd: rustix::fs::open(path, flags, Mode::empty())?,
        })
    }

    /// Opens a path with symbolic links resolved as they would be with this root as `/`.
    pub(crate) fn resolve(&self, path: &[u8], flags: OFlags) -> Result<OwnedFd, Errno> {
        let path = if path.is_empty() {
            b".".as_slice()
        } else {
            path
        };
        let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..RESOLVE_ATTEMPTS {
            match rustix::fs::openat2(
                &self.fd,
                path,
                flags | OFlags::CLOEXEC,
                Mode::empty(),
                resolve,
            ) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                outcome => return outcome,
            }
        }
        Err(Errno::AGAIN)
    }

    /// Reads a regular file whole; `None` when there is none.
    pub(crate) fn read_file(&self, path: &[u8], limit: u64) -> io::Result<Option<Vec<u8>>> {
        // Opening a pipe without NONBLOCK would wait for ever for its other end.
        let file = match self.resolve(path, OFlags::RDONLY | OFlags::NONBLOCK) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(io::Error::new(
                io::ErrorKind::FileTooLarge,
                "larger than it may be",
            ));
        }
        Ok(Some(bytes))
    }
}

impl AsFd for Root {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
