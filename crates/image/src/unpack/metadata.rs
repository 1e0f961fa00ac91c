//! Owner, mode, time and attributes, as far as a layer may set them.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, Timespec, Timestamps, Uid, XattrFlags};
use rustix::io::Errno;

use super::entry::Entry;
use crate::owners::Owner;

const SET_USER_ID: u32 = 0o4000;
const SET_GROUP_ID: u32 = 0o2000;

/// What nobody is kept from by their own mode.
const OWN_FILE: u32 = 0o400;
const OWN_DIRECTORY: u32 = 0o700;
const LINK: u32 = 0o777;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Metadata {
    mode: u32,
    uid: u32,
    gid: u32,
    modified: Timespec,
    /// The least of its mode that who owns it needs.
    own: u32,
}

impl Metadata {
    /// A directory no layer names but a path runs through.
    pub(super) const IMPLICIT_DIRECTORY: Self = Self {
        mode: 0o755,
        uid: 0,
        gid: 0,
        modified: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        own: OWN_DIRECTORY,
    };

    pub(super) const fn of_file(entry: &Entry) -> Self {
        Self {
            mode: entry.mode & !(SET_USER_ID | SET_GROUP_ID),
            own: OWN_FILE,
            ..Self::of(entry)
        }
    }

    pub(super) const fn of_link(entry: &Entry) -> Self {
        Self {
            mode: LINK,
            ..Self::of(entry)
        }
    }

    pub(super) const fn of_directory(entry: &Entry) -> Self {
        Self {
            mode: entry.mode & !SET_USER_ID,
            own: OWN_DIRECTORY,
            ..Self::of(entry)
        }
    }

    const fn of(entry: &Entry) -> Self {
        Self {
            mode: entry.mode,
            uid: entry.uid,
            gid: entry.gid,
            modified: entry.modified,
            own: 0,
        }
    }

    /// The same with a mode that does not lock its owner out. Root is never.
    pub(super) const fn readable(self) -> Self {
        Self {
            mode: self.mode | self.own,
            ..self
        }
    }

    pub(super) fn owner(&self) -> Owner {
        Owner {
            uid: self.uid,
            gid: self.gid,
            mode: u16::try_from(self.mode & 0o7777).expect("twelve bits fit into sixteen"),
        }
    }

    /// Applies to an open file or directory. Owner before mode: changing the owner clears bits.
    pub(super) fn apply(&self, fd: &OwnedFd, with_owner: bool) -> Result<(), Errno> {
        if with_owner {
            rustix::fs::fchown(
                fd,
                Some(Uid::from_raw(self.uid)),
                Some(Gid::from_raw(self.gid)),
            )?;
        }
        let shown = if with_owner { *self } else { self.readable() };
        rustix::fs::fchmod(fd, Mode::from_raw_mode(shown.mode))?;
        rustix::fs::futimens(fd, &self.times())
    }

    /// Applies to a symbolic link, which has no mode of its own.
    pub(super) fn apply_to_link(
        &self,
        parent: impl AsFd,
        name: &[u8],
        with_owner: bool,
    ) -> Result<(), Errno> {
        let parent = parent.as_fd();
        if with_owner {
            let owner = Some(Uid::from_raw(self.uid));
            let group = Some(Gid::from_raw(self.gid));
            rustix::fs::chownat(parent, name, owner, group, AtFlags::SYMLINK_NOFOLLOW)?;
        }
        rustix::fs::utimensat(parent, name, &self.times(), AtFlags::SYMLINK_NOFOLLOW)
    }

    const fn times(&self) -> Timestamps {
        Timestamps {
            last_access: self.modified,
            last_modification: self.modified,
        }
    }
}

/// Sets the attributes a layer may set. `user.overlay.*` steers an overlay mounted over the tree,
/// `security.*` and `trusted.*` give rights.
pub(super) fn set_attributes(fd: &OwnedFd, entry: &Entry) -> Result<(), Errno> {
    for (name, value) in &entry.attributes {
        if name.starts_with(b"user.") && !name.starts_with(b"user.overlay.") {
            match rustix::fs::fsetxattr(fd, name.as_slice(), value, XattrFlags::empty()) {
                // A file system without attributes still runs the image.
                Ok(()) | Err(Errno::NOTSUP) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}
