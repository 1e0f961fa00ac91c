//! The directory of one chamber on a disk.

use std::ffi::CString;
use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiln_guest_init::protocol::IdMap;
use rustix::fs::{AtFlags, Gid, Mode, Uid, chownat, mkdirat};
use rustix::process::{getegid, geteuid};

use super::Disk;
use super::remove::{Bounds, remove};
use crate::Error;

/// More is removed by giving up the disk.
const BOUNDS: Bounds = Bounds {
    entries: 4096,
    depth: 64,
};

/// It goes, with all that is in it, when this is dropped. Whoever can write there must be gone before.
#[derive(Debug)]
pub(crate) struct Plot {
    disk: Arc<Disk>,
    name: String,
}

impl Plot {
    /// One for a chamber with these ids, and a mount of the disk to reach it by.
    pub(in super::super) fn on(disk: &Arc<Disk>, ids: IdMap) -> Result<(Self, OwnedFd), Error> {
        let number = disk.plots.fetch_add(1, Ordering::Relaxed);
        let plot = Self {
            disk: Arc::clone(disk),
            name: number.to_string(),
        };
        let (user, group) = owner(ids);
        mkdirat(&disk.root, plot.name.as_str(), Mode::RWXU)
            .and_then(|()| {
                let flags = AtFlags::SYMLINK_NOFOLLOW;
                chownat(
                    &disk.root,
                    plot.name.as_str(),
                    Some(user),
                    Some(group),
                    flags,
                )
            })
            .map_err(|errno| Error::host("cannot make a directory on a disk", errno))?;
        let mount = disk.mount_again()?;
        Ok((plot, mount))
    }

    pub(in super::super) fn name(&self) -> &str {
        &self.name
    }

    /// Removes what is there already, for who has time now.
    pub(crate) fn clear(&self) {
        let Ok(name) = CString::new(self.name.as_str()) else {
            return;
        };
        if self.disk.spoiled.load(Ordering::Relaxed) {
            return;
        }
        if let Err(errno) = remove(self.disk.root.as_fd(), &name, BOUNDS) {
            tracing::debug!(%errno, "a disk is given up");
            self.disk.spoiled.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for Plot {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Who is root in the chamber, as the host sees it.
fn owner(ids: IdMap) -> (Uid, Gid) {
    match ids {
        IdMap::Shifted { first, .. } => (Uid::from_raw(first), Gid::from_raw(first)),
        IdMap::Identity { .. } => (Uid::ROOT, Gid::ROOT),
        IdMap::Single { .. } => (geteuid(), getegid()),
    }
}
