//! Whiteouts: how a layer hides what lower layers made.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::directories::Directories;
use super::tree::Layer;
use crate::remove::{names, remove_all};

const PREFIX: &[u8] = b".wh.";
const OPAQUE: &[u8] = b".wh..wh..opq";
/// Names a union file system of old kept for itself.
const RESERVED_PREFIX: &[u8] = b".wh..wh.";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whiteout<'a> {
    /// Hide everything lower layers put into the directory.
    Opaque,
    /// Hide one name.
    Name(&'a [u8]),
    /// Bookkeeping without meaning.
    Reserved,
    /// A whiteout of no name, of `.` or of `..`.
    Malformed,
}

impl<'a> Whiteout<'a> {
    /// What a name hides; `None` when it is an ordinary name.
    pub(super) fn of(name: &'a [u8]) -> Option<Self> {
        let hidden = name.strip_prefix(PREFIX)?;
        Some(match hidden {
            _ if name == OPAQUE => Self::Opaque,
            _ if name.starts_with(RESERVED_PREFIX) => Self::Reserved,
            b"" | b"." | b".." => Self::Malformed,
            hidden => Self::Name(hidden),
        })
    }
}

/// Removes everything lower layers put into a directory. What this layer made stays, whichever
/// comes first in the archive.
pub(super) fn hide_children(
    directory: &OwnedFd,
    inode: u64,
    layer: &Layer,
    directories: &Directories,
) -> Result<(), Errno> {
    for name in names(directory)? {
        hide_name(directory, inode, &name, layer, directories)?;
    }
    Ok(())
}

/// Removes one name, as far as lower layers made it. Nothing there is success.
pub(super) fn hide_name(
    parent: &OwnedFd,
    parent_inode: u64,
    name: &[u8],
    layer: &Layer,
    directories: &Directories,
) -> Result<(), Errno> {
    let status = match rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(status) => status,
        Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error),
    };
    if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
        if directories.is_of_layer(status.st_ino, layer.number) {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let directory = rustix::fs::openat(parent, name, flags, Mode::empty())?;
            return hide_children(&directory, status.st_ino, layer, directories);
        }
    } else if layer.made(parent_inode, name) {
        return Ok(());
    }
    remove_all(parent, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_prefixed_names_are_whiteouts() {
        assert_eq!(Whiteout::of(b"a.wh.b"), None);
        assert_eq!(Whiteout::of(b".wh.b"), Some(Whiteout::Name(b"b")));
        assert_eq!(Whiteout::of(b".wh..wh..opq"), Some(Whiteout::Opaque));
        assert_eq!(Whiteout::of(b".wh..wh.plnk"), Some(Whiteout::Reserved));
        for malformed in [b".wh.".as_slice(), b".wh..", b".wh..."] {
            assert_eq!(Whiteout::of(malformed), Some(Whiteout::Malformed));
        }
    }
}
