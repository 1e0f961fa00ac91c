//! The root of a command that has no chamber.

use std::fs;
use std::os::fd::AsRawFd;

use kiln_guest_init::protocol::Stage;
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2};

use crate::fault::{At, Fault};

#[derive(Debug)]
pub(crate) enum Root {
    /// A directory that becomes the command's root.
    Changed(String),
    /// A directory in which program and working directory are looked for, by who may change no root.
    Searched(String),
}

impl Root {
    pub(crate) fn of(directory: &str) -> Self {
        if rustix::process::geteuid().is_root() {
            Self::Changed(directory.to_owned())
        } else {
            Self::Searched(directory.to_owned())
        }
    }

    pub(crate) fn path(&self) -> &str {
        match self {
            Self::Changed(path) | Self::Searched(path) => path,
        }
    }

    pub(super) fn to_change_to(&self) -> Option<&str> {
        match self {
            Self::Changed(path) => Some(path),
            Self::Searched(_) => None,
        }
    }

    /// The working directory as the command will find it.
    pub(super) fn locate_directory(&self, path: &str) -> Result<String, Fault> {
        match self {
            Self::Changed(_) => Ok(path.to_owned()),
            Self::Searched(root) => locate(root, path)
                .ok_or_else(|| Fault::new(Stage::WorkDir, format!("there is no {path}"))),
        }
    }

    /// Those programs that are there, as the command will find them.
    pub(super) fn locate_programs(&self, candidates: Vec<String>) -> Vec<String> {
        match self {
            Self::Changed(_) => candidates,
            Self::Searched(root) => candidates
                .iter()
                .filter_map(|path| locate(root, path))
                .collect(),
        }
    }
}

/// Where a path leads when links on the way stay below a root.
fn locate(root: &str, path: &str) -> Option<String> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let root = openat(CWD, root, flags | OFlags::DIRECTORY, Mode::empty()).ok()?;
    let found = openat2(root, path, flags, Mode::empty(), ResolveFlags::IN_ROOT)
        .at(Stage::Exec, String::new)
        .ok()?;
    let link = fs::read_link(format!("/proc/self/fd/{}", found.as_raw_fd())).ok()?;
    link.to_str().map(str::to_owned)
}
