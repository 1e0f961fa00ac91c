//! What layers say about owners and modes and the file system cannot be told, because an ordinary user unpacks.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::metadata::Metadata;
use crate::owners::{Owner, Owners};
use crate::remove::names;

/// By inode, as a file may have several names. A number that comes again is noted again.
#[derive(Debug, Default)]
pub(super) struct Ledger(BTreeMap<u64, Owner>);

impl Ledger {
    /// Notes what a file, link or directory should be; nothing if it is that already.
    pub(super) fn note(&mut self, inode: u64, metadata: &Metadata) {
        let owner = metadata.owner();
        let as_it_is = Owner {
            uid: 0,
            gid: 0,
            mode: metadata.readable().owner().mode,
        };
        if owner == as_it_is {
            self.0.remove(&inode);
        } else {
            self.0.insert(inode, owner);
        }
    }

    /// The same by path. Every directory below the root can be read by now.
    pub(super) fn by_path(&self, root: &OwnedFd) -> Result<Owners, Errno> {
        let mut owners = Owners::default();
        if self.0.is_empty() {
            return Ok(owners);
        }
        let inode = rustix::fs::fstat(root)?.st_ino;
        if let Some(owner) = self.0.get(&inode) {
            owners.insert(Vec::new(), *owner);
        }
        self.walk(root, &mut Vec::new(), &mut owners)?;
        Ok(owners)
    }

    /// The depth of the tree is bounded by [`crate::Limits::depth`], and with it the recursion.
    fn walk(
        &self,
        directory: &OwnedFd,
        path: &mut Vec<u8>,
        owners: &mut Owners,
    ) -> Result<(), Errno> {
        let above = path.len();
        for name in names(directory)? {
            if above > 0 {
                path.push(b'/');
            }
            path.extend_from_slice(&name);
            let status = rustix::fs::statat(
                directory.as_fd(),
                name.as_slice(),
                AtFlags::SYMLINK_NOFOLLOW,
            )?;
            if let Some(owner) = self.0.get(&status.st_ino) {
                owners.insert(path.clone(), *owner);
            }
            if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
                let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let below = rustix::fs::openat(directory, name.as_slice(), flags, Mode::empty())?;
                self.walk(&below, path, owners)?;
            }
            path.truncate(above);
        }
        Ok(())
    }
}
