//! Files without a name: they are gone with the last process that has them open, whatever ends it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Mode, OFlags, open};

use crate::Error;

/// A file that only processes of this user can reach, by way of this process.
#[derive(Debug)]
pub(crate) struct HiddenFile(File);

impl HiddenFile {
    /// On the disk that holds `directory`.
    pub(crate) fn create(directory: &Path) -> Result<Self, Error> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        // Without a name nobody finds it, whatever its mode; a jailed monitor of another user finds a link to it.
        let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH;
        open(directory, flags, mode)
            .map(|file| Self(file.into()))
            .map_err(|errno| {
                Error::host(
                    format!("cannot make a file in {}", directory.display()),
                    errno,
                )
            })
    }

    /// A path by which a child can open it as long as this process lives.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}
