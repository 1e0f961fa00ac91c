//! Removing what a command has left: by descriptors, following nothing, and only as far as it is quick.

use std::ffi::CString;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, openat, unlinkat};
use rustix::io::Errno;

/// Room for the names that are read at once.
const NAMES_BYTES: usize = 8 << 10;

/// How much is removed. A tree with more in it, or a deeper one, goes faster with its whole disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) entries: usize,
    pub(super) depth: usize,
}

/// Removes a directory with all that it holds. Nothing there is success.
pub(super) fn remove(parent: BorrowedFd<'_>, name: &str, bounds: Bounds) -> Result<(), Errno> {
    let mut left = bounds.entries;
    let mut path = Vec::new();
    let name = CString::new(name).map_err(|_| Errno::INVAL)?;
    if let Some(top) = Level::enter(parent, name, &mut left)? {
        path.push(top);
    }
    while let Some(mut level) = path.pop() {
        match level.entries.pop() {
            None => {
                let parent = path.last().map_or(parent, Level::as_fd);
                unlinkat(parent, level.name.as_c_str(), AtFlags::REMOVEDIR)?;
            }
            Some((name, FileType::Directory)) => {
                let below = Level::enter(level.as_fd(), name, &mut left)?;
                path.push(level);
                path.extend(below);
                if path.len() > bounds.depth {
                    return Err(Errno::LOOP);
                }
            }
            Some((name, _)) => {
                unlinkat(&level.directory, name.as_c_str(), AtFlags::empty())?;
                path.push(level);
            }
        }
    }
    Ok(())
}

/// A directory whose entries are being removed.
struct Level {
    directory: OwnedFd,
    name: CString,
    entries: Vec<(CString, FileType)>,
}

impl Level {
    /// Removes an empty directory, and opens one that is not.
    fn enter(
        parent: BorrowedFd<'_>,
        name: CString,
        left: &mut usize,
    ) -> Result<Option<Self>, Errno> {
        match unlinkat(parent, name.as_c_str(), AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(None),
            Err(Errno::NOTEMPTY) => {}
            Err(errno) => return Err(errno),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let directory = openat(parent, name.as_c_str(), flags, Mode::empty())?;
        let entries = entries(&directory, left)?;
        Ok(Some(Self {
            directory,
            name,
            entries,
        }))
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

fn entries(directory: &OwnedFd, left: &mut usize) -> Result<Vec<(CString, FileType)>, Errno> {
    let mut buffer = [MaybeUninit::uninit(); NAMES_BYTES];
    let mut names = RawDir::new(directory, &mut buffer);
    let mut entries = Vec::new();
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name();
        if name != c"." && name != c".." {
            *left = left.checked_sub(1).ok_or(Errno::TOOBIG)?;
            entries.push((name.to_owned(), entry.file_type()));
        }
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    const PLENTY: Bounds = Bounds {
        entries: 100,
        depth: 10,
    };

    fn removed(place: &Path, bounds: Bounds) -> Result<(), Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let parent = rustix::fs::open(place, flags, Mode::empty()).unwrap();
        remove(parent.as_fd(), "tree", bounds)
    }

    #[test]
    fn a_tree_goes_and_what_its_links_point_to_stays() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("canary"), "sings").unwrap();
        let tree = place.path().join("tree");
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/file"), "x").unwrap();
        symlink(&outside, tree.join("a/directory")).unwrap();
        symlink(outside.join("canary"), tree.join("a/link")).unwrap();
        removed(place.path(), PLENTY).unwrap();
        assert!(!tree.exists());
        assert!(outside.join("canary").exists());
        // And once more, when nothing is there.
        removed(place.path(), PLENTY).unwrap();
    }

    #[test]
    fn a_tree_that_is_too_deep_or_too_large_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let deep: String = (0..11).map(|_| "/d").collect();
        fs::create_dir_all(place.path().join(format!("tree{deep}"))).unwrap();
        assert_eq!(removed(place.path(), PLENTY), Err(Errno::LOOP));
        let deeper = Bounds {
            depth: 12,
            ..PLENTY
        };
        removed(place.path(), deeper).unwrap();

        fs::create_dir(place.path().join("tree")).unwrap();
        for file in 0..101 {
            fs::write(place.path().join(format!("tree/{file}")), "").unwrap();
        }
        assert_eq!(removed(place.path(), PLENTY), Err(Errno::TOOBIG));
    }
}
