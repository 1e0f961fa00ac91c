//! A copy of a base, for one run.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, FileType, Metadata};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _, lchown, symlink,
};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, makedev, mknodat};

use crate::Error;
use crate::cgroup::fresh_name;

/// The devices that programs count on, with their numbers under Linux.
const DEVICES: [(&str, u32, u32); 6] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
    ("tty", 5, 0),
];

/// Deeper than any image's.
const MAX_DEPTH: usize = 1024;

/// Goes when it is dropped.
#[derive(Debug)]
pub(super) struct Tree {
    directory: PathBuf,
    root: PathBuf,
}

impl Tree {
    pub(super) fn copy(base: &Path, work_dir: &Path) -> Result<Self, Error> {
        let failed = |error| Error::host("cannot copy the base", error);
        let name = fresh_name().ok_or_else(|| failed(io::Error::other("no /proc/self/stat")))?;
        let directory = work_dir.join(name);
        let tree = Self {
            root: directory.join("root"),
            directory,
        };
        // What is in an image may be nobody else's business.
        DirBuilder::new()
            .mode(0o711)
            .create(&tree.directory)
            .map_err(failed)?;
        Copying::default()
            .copy(base, &tree.root, 0)
            .map_err(failed)?;
        if is_root() {
            make_devices(&tree.root.join("dev")).map_err(failed)?;
        }
        Ok(tree)
    }

    /// Its root as text, for the guest protocol.
    pub(super) fn text(&self) -> Result<String, Error> {
        let text = self.root.to_str().ok_or_else(|| Error::Rootfs {
            path: self.root.clone(),
            reason: "the path is not utf-8".to_owned(),
        })?;
        Ok(text.to_owned())
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(path = %self.directory.display(), %error, "cannot remove, the next start will");
        }
    }
}

/// Where files with several names have been copied to, by device and inode.
#[derive(Default)]
struct Copying(BTreeMap<(u64, u64), PathBuf>);

impl Copying {
    /// Copies whatever is at a path: directories, files and links. Devices, sockets and pipes of an image are left out.
    fn copy(&mut self, from: &Path, to: &Path, depth: usize) -> io::Result<()> {
        if depth > MAX_DEPTH {
            return Err(io::Error::other("it is too deep"));
        }
        let found = fs::symlink_metadata(from)?;
        let kind = found.file_type();
        if kind.is_symlink() {
            symlink(fs::read_link(from)?, to)?;
        } else if kind.is_dir() {
            fs::create_dir(to)?;
            for entry in fs::read_dir(from)? {
                let entry = entry?;
                self.copy(&entry.path(), &to.join(entry.file_name()), depth + 1)?;
            }
        } else if is_special(kind) {
            return Ok(());
        } else if let Some(twin) = self.0.get(&(found.dev(), found.ino())) {
            return fs::hard_link(twin, to);
        } else {
            fs::copy(from, to)?;
            if found.nlink() > 1 {
                self.0.insert((found.dev(), found.ino()), to.to_owned());
            }
        }
        take_over(&found, to)
    }
}

fn is_special(kind: FileType) -> bool {
    kind.is_block_device() || kind.is_char_device() || kind.is_fifo() || kind.is_socket()
}

/// Owner first: a change of owner takes special modes away.
fn take_over(found: &Metadata, to: &Path) -> io::Result<()> {
    if is_root() {
        lchown(to, Some(found.uid()), Some(found.gid()))?;
    }
    if found.file_type().is_symlink() {
        return Ok(());
    }
    fs::set_permissions(to, fs::Permissions::from_mode(found.mode() & 0o7777))
}

fn make_devices(directory: &Path) -> io::Result<()> {
    // An image's own `dev` may be a link to anywhere.
    match fs::symlink_metadata(directory) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Ok(()),
        Err(_) => fs::create_dir(directory)?,
    }
    for (name, major, minor) in DEVICES {
        let path = directory.join(name);
        let made = mknodat(
            CWD,
            &path,
            rustix::fs::FileType::CharacterDevice,
            Mode::empty(),
            makedev(major, minor),
        );
        match made {
            Ok(()) => fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?,
            Err(rustix::io::Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_files_links_and_modes_and_goes() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().join("base");
        fs::create_dir_all(base.join("bin")).unwrap();
        fs::write(base.join("bin/tool"), "x").unwrap();
        fs::set_permissions(base.join("bin/tool"), fs::Permissions::from_mode(0o4755)).unwrap();
        symlink("/nowhere", base.join("link")).unwrap();
        fs::hard_link(base.join("bin/tool"), base.join("twin")).unwrap();
        let work_dir = place.path().join("work");
        fs::create_dir(&work_dir).unwrap();
        let tree = Tree::copy(&base, &work_dir).unwrap();
        let tool = fs::metadata(tree.root.join("bin/tool")).unwrap();
        assert_eq!(tool.mode() & 0o7777, 0o4755);
        let twin = fs::metadata(tree.root.join("twin")).unwrap();
        assert_eq!((twin.ino(), twin.nlink()), (tool.ino(), 2));
        let link = fs::read_link(tree.root.join("link")).unwrap();
        assert_eq!(link, Path::new("/nowhere"));
        drop(tree);
        assert_eq!(fs::read_dir(&work_dir).unwrap().count(), 0);
    }

    #[test]
    fn a_link_in_the_place_of_devices_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = place.path().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let link = place.path().join("dev");
        symlink(&elsewhere, &link).unwrap();
        make_devices(&link).unwrap();
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}
