//! The directories of one chamber on a disk.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use kiln_guest_init::protocol::{IdMap, Scratch};
use rustix::fs::{AtFlags, Gid, Uid, chownat};
use rustix::process::{getegid, geteuid};

use super::remove::{Bounds, remove};
use super::{Disk, make_directory};
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
    upper: String,
    work: String,
}

impl Plot {
    /// One for a chamber with these ids, and a mount of the disk to reach it by.
    pub(in super::super) fn on(disk: &Arc<Disk>, ids: IdMap) -> Result<(Self, OwnedFd), Error> {
        let number = disk.plots.fetch_add(1, Ordering::Relaxed);
        let plot = Self {
            disk: Arc::clone(disk),
            upper: format!("upper-{number}"),
            work: format!("work-{number}"),
        };
        plot.make(owner(ids))
            .map_err(|errno| Error::host("cannot make a directory on a disk", errno))?;
        let mount = disk.mount_again()?;
        Ok((plot, mount))
    }

    fn make(&self, (user, group): (Uid, Gid)) -> rustix::io::Result<()> {
        let root = &self.disk.root;
        for (name, mode) in [(&self.upper, 0o755), (&self.work, 0o700)] {
            make_directory(root, name, mode)?;
            let flags = AtFlags::SYMLINK_NOFOLLOW;
            chownat(root, name.as_str(), Some(user), Some(group), flags)?;
        }
        Ok(())
    }

    /// As the chamber finds it.
    pub(in super::super) fn scratch(&self) -> Scratch {
        Scratch::Handed {
            upper: self.upper.clone(),
            work: self.work.clone(),
        }
    }

    /// Removes what is there already, for who has time now.
    pub(crate) fn clear(&self) {
        for name in [&self.upper, &self.work] {
            if self.disk.spoiled.load(Ordering::Relaxed) {
                return;
            }
            if let Err(errno) = remove(self.disk.root.as_fd(), name, BOUNDS) {
                tracing::debug!(%errno, "a disk is given up");
                self.disk.spoiled.store(true, Ordering::Relaxed);
            }
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
