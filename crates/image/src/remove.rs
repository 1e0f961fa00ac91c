//! Removing a tree below a directory handle, without following anything.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, Mode, OFlags};
use rustix::io::Errno;

/// Removes whatever has this name, directories with all they hold. Nothing there is success.
///
/// The depth of the tree is bounded by [`crate::Limits::depth`], and with it the recursion.
pub(crate) fn remove_all(parent: impl AsFd, name: &[u8]) -> Result<(), Errno> {
    let parent = parent.as_fd();
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(Errno::ISDIR | Errno::PERM) => {}
        Err(error) => return Err(error),
    }
    let directory = open_directory(parent, name)?;
    for child in names(&directory)? {
        remove_all(&directory, &child)?;
    }
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
}

/// The names in a directory, without `.` and `..`.
pub(crate) fn names(directory: &OwnedFd) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// An image may hold directories without permissions, which stop everybody but root.
fn open_directory(parent: impl AsFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let parent = parent.as_fd();
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let status = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(status.st_mode);
    if !mode.contains(Mode::RWXU) {
        let unlocked = rustix::fs::openat(parent, name, flags | OFlags::PATH, Mode::empty())?;
        unlock(&unlocked, mode | Mode::RWXU)?;
    }
    rustix::fs::openat(parent, name, flags, Mode::empty())
}

/// A handle opened by path alone takes no `fchmod`; its entry under `/proc/self/fd` does.
fn unlock(directory: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    use std::os::fd::AsRawFd as _;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    rustix::fs::chmod(path, mode)
}
