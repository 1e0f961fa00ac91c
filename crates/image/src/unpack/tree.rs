//! The tree being made: every change is one name below an open directory of the root.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read, Write as _};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::archive::Archive;
use super::bounds::Exceeded;
use super::directories::Directories;
use super::entry::{Entry, EntryPath, Kind};
use super::ledger::Ledger;
use super::metadata::{Metadata, set_attributes};
use super::whiteout::{Whiteout, hide_children, hide_name};
use super::{BUFFER_BYTES, LayerError, UnpackError};
use crate::Limits;
use crate::owners::Owners;
use crate::remove::{names, remove_all};
use crate::root::Root;

const DIRECTORY: OFlags = OFlags::DIRECTORY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Disk blocks are counted as if each were this large; a name costs about one as well.
const BLOCK_BYTES: u64 = 4096;

/// What came out of an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Entries of all layers, whiteouts included.
    pub entries: u64,
    /// About how much disk was written, whole blocks counted.
    pub bytes: u64,
    /// Devices and pipes that were not made.
    pub skipped: u64,
}

/// What the current layer has made so far.
#[derive(Debug, Default)]
pub(super) struct Layer {
    pub number: usize,
    /// By directory and name, since a file may have several names and not all of this layer.
    made: BTreeSet<(u64, Box<[u8]>)>,
}

impl Layer {
    pub(super) fn made(&self, parent: u64, name: &[u8]) -> bool {
        self.made.contains(&(parent, name.into()))
    }
}

/// An open directory of the tree.
#[derive(Clone, Debug)]
struct Parent {
    fd: Rc<OwnedFd>,
    inode: u64,
}

#[derive(Debug)]
pub(super) struct Tree<'a> {
    root: Root,
    limits: &'a Limits,
    directories: Directories,
    layer: Layer,
    /// The last parent and the path it was reached by; entries come directory by directory.
    last_parent: Option<(Vec<u8>, Parent)>,
    with_owner: bool,
    /// What the files themselves cannot say without an owner.
    ledger: Ledger,
    done: Unpacked,
    buffer: Vec<u8>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(root: Root, limits: &'a Limits) -> Result<Self, UnpackError> {
        let failed = |error: Errno| UnpackError::Root(error.into());
        let fd = root.resolve(b"", DIRECTORY).map_err(failed)?;
        if !names(&fd).map_err(failed)?.is_empty() {
            return Err(UnpackError::RootNotEmpty);
        }
        let inode = rustix::fs::fstat(&fd).map_err(failed)?.st_ino;
        Ok(Self {
            root,
            limits,
            directories: Directories::new(inode, limits),
            layer: Layer::default(),
            last_parent: None,
            with_owner: rustix::process::geteuid().is_root(),
            ledger: Ledger::default(),
            done: Unpacked::default(),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    pub(super) fn apply_layer(
        &mut self,
        archive: &mut Archive<impl Read>,
    ) -> Result<(), LayerError> {
        self.layer = Layer {
            number: self.layer.number + 1,
            made: BTreeSet::new(),
        };
        while let Some(entry) = archive.next_entry()? {
            self.done.entries += 1;
            if self.done.entries > self.limits.entries {
                return Err(Exceeded::Entries(self.limits.entries).into());
            }
            self.apply(&entry, archive)?;
        }
        Ok(())
    }

    /// Gives directories their modes and times, which had to wait until nothing is added to them. Answers the owners as well if
    /// the files do not have them.
    pub(super) fn finish(mut self) -> Result<(Unpacked, Option<Owners>), LayerError> {
        for (path, inode, metadata) in self.directories.deepest_first() {
            let fd = match self.root.resolve(&path, DIRECTORY) {
                Ok(fd) => fd,
                // It was removed by a later layer, and perhaps something else has its name now.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => continue,
                Err(error) => return Err(failed(&path, "open the directory", error)),
            };
            let status = rustix::fs::fstat(&fd)
                .map_err(|error| failed(&path, "read the directory", error))?;
            if status.st_ino == inode {
                metadata
                    .apply(&fd, self.with_owner)
                    .map_err(|error| failed(&path, "set owner, mode and time", error))?;
                if !self.with_owner {
                    self.ledger.note(inode, &metadata);
                }
            }
        }
        if self.with_owner {
            return Ok((self.done, None));
        }
        let root = self.root.resolve(b"", DIRECTORY);
        let owners = root.and_then(|root| self.ledger.by_path(&root));
        let owners = owners.map_err(|error| failed(b"", "look at what was unpacked", error))?;
        Ok((self.done, Some(owners)))
    }

    fn apply(&mut self, entry: &Entry, archive: &mut Archive<impl Read>) -> Result<(), LayerError> {
        let Some((directory, name)) = entry.path.split() else {
            return self.apply_to_root(entry);
        };
        let parent = self.parent(directory)?;
        if let Some(whiteout) = Whiteout::of(name) {
            return self.hide(whiteout, &parent, &entry.path);
        }
        self.directories.touch(parent.inode, self.layer.number);
        self.directories.check_room(parent.inode, name)?;
        self.done.bytes += BLOCK_BYTES;
        match &entry.kind {
            Kind::Directory => return self.make_directory(entry, &parent, name),
            Kind::File => self.make_file(entry, &parent, name, archive)?,
            Kind::Symlink { target } => self.make_symlink(entry, &parent, name, target)?,
            Kind::HardLink { target } => self.make_hard_link(entry, &parent, name, target)?,
            Kind::Special => {
                self.done.skipped += 1;
                self.clear(&parent, name, &entry.path)?;
            }
        }
        self.layer.made.insert((parent.inode, name.into()));
        Ok(())
    }

    fn apply_to_root(&mut self, entry: &Entry) -> Result<(), LayerError> {
        if entry.kind != Kind::Directory {
            return Err(LayerError::NoName {
                path: entry.path.shown(),
            });
        }
        let fd = self
            .root
            .resolve(b"", DIRECTORY)
            .map_err(on(&entry.path, "open the root"))?;
        set_attributes(&fd, entry).map_err(on(&entry.path, "set attributes"))?;
        let inode = rustix::fs::fstat(&fd)
            .map_err(on(&entry.path, "read the root"))?
            .st_ino;
        self.directories
            .set_metadata(inode, Metadata::of_directory(entry));
        Ok(())
    }

    fn make_directory(
        &mut self,
        entry: &Entry,
        parent: &Parent,
        name: &[u8],
    ) -> Result<(), LayerError> {
        let path = &entry.path;
        let existing = open_if_directory(parent, name, path)?;
        let (fd, inode) = if let Some(existing) = existing {
            existing
        } else {
            self.clear(parent, name, path)?;
            self.create_directory(parent, name)
                .map_err(on(path, "make the directory"))?
        };
        set_attributes(&fd, entry).map_err(on(path, "set attributes"))?;
        self.directories
            .set_metadata(inode, Metadata::of_directory(entry));
        self.directories.touch(inode, self.layer.number);
        Ok(())
    }

    fn make_file(
        &mut self,
        entry: &Entry,
        parent: &Parent,
        name: &[u8],
        archive: &mut Archive<impl Read>,
    ) -> Result<(), LayerError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || rustix::fs::openat(&*parent.fd, name, flags, Mode::RUSR | Mode::WUSR);
        let fd = match create() {
            Err(Errno::EXIST) => {
                self.clear(parent, name, &entry.path)?;
                create()
            }
            outcome => outcome,
        };
        let mut file = File::from(fd.map_err(on(&entry.path, "make the file"))?);
        let mut size = 0;
        loop {
            let read = archive.read_body(&mut self.buffer)?;
            if read == 0 {
                break;
            }
            size += read as u64;
            file.write_all(&self.buffer[..read]).map_err(|error| {
                let errno = Errno::from_io_error(&error).unwrap_or(Errno::IO);
                failed(entry.path.as_bytes(), "write the file", errno)
            })?;
        }
        self.done.bytes += size.next_multiple_of(BLOCK_BYTES);
        let fd = OwnedFd::from(file);
        set_attributes(&fd, entry).map_err(on(&entry.path, "set attributes"))?;
        let metadata = Metadata::of_file(entry);
        metadata
            .apply(&fd, self.with_owner)
            .map_err(on(&entry.path, "set owner, mode and time"))?;
        if !self.with_owner {
            let status = rustix::fs::fstat(&fd).map_err(on(&entry.path, "read the file"))?;
            self.ledger.note(status.st_ino, &metadata);
        }
        Ok(())
    }

    fn make_symlink(
        &mut self,
        entry: &Entry,
        parent: &Parent,
        name: &[u8],
        target: &[u8],
    ) -> Result<(), LayerError> {
        let create = || rustix::fs::symlinkat(target, &*parent.fd, name);
        match create() {
            Err(Errno::EXIST) => {
                self.clear(parent, name, &entry.path)?;
                create()
            }
            outcome => outcome,
        }
        .map_err(on(&entry.path, "make the symbolic link"))?;
        let metadata = Metadata::of_link(entry);
        metadata
            .apply_to_link(&*parent.fd, name, self.with_owner)
            .map_err(on(&entry.path, "set owner and time"))?;
        if !self.with_owner {
            let status = rustix::fs::statat(&*parent.fd, name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(on(&entry.path, "read the symbolic link"))?;
            self.ledger.note(status.st_ino, &metadata);
        }
        Ok(())
    }

    /// A hard link is a second name for a file or symbolic link that is already there.
    fn make_hard_link(
        &mut self,
        entry: &Entry,
        parent: &Parent,
        name: &[u8],
        target: &EntryPath,
    ) -> Result<(), LayerError> {
        let path = &entry.path;
        let missing = || LayerError::LinkTargetMissing {
            path: path.shown(),
            target: target.shown(),
        };
        let (directory, target_name) = target.split().ok_or_else(missing)?;
        let target_parent = match self
            .root
            .resolve(directory, OFlags::PATH | OFlags::DIRECTORY)
        {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR) => return Err(missing()),
            Err(Errno::LOOP) => {
                return Err(LayerError::SymlinkLoop {
                    path: target.shown(),
                });
            }
            Err(error) => return Err(failed(path.as_bytes(), "open the link's target", error)),
        };
        let stat = |fd: &OwnedFd, name: &[u8]| match rustix::fs::statat(
            fd,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
        ) {
            Ok(status) => Ok(Some(status)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed(path.as_bytes(), "read the link's target", error)),
        };
        let status = stat(&target_parent, target_name)?.ok_or_else(missing)?;
        if FileType::from_raw_mode(status.st_mode) == FileType::Directory {
            return Err(LayerError::LinkToDirectory {
                path: path.shown(),
                target: target.shown(),
            });
        }
        // Clearing the way for a link to itself would remove the file.
        if stat(&parent.fd, name)?.is_some_and(|existing| existing.st_ino == status.st_ino) {
            return Ok(());
        }
        // Were the target inside what is cleared, the link would find nothing and fail below.
        self.clear(parent, name, path)?;
        match rustix::fs::linkat(
            &target_parent,
            target_name,
            &*parent.fd,
            name,
            AtFlags::empty(),
        ) {
            Err(Errno::NOENT) => Err(missing()),
            outcome => outcome.map_err(on(path, "make the hard link")),
        }
    }

    fn hide(
        &mut self,
        whiteout: Whiteout<'_>,
        parent: &Parent,
        path: &EntryPath,
    ) -> Result<(), LayerError> {
        self.last_parent = None;
        match whiteout {
            Whiteout::Opaque => {
                hide_children(&parent.fd, parent.inode, &self.layer, &self.directories)
            }
            Whiteout::Name(name) => hide_name(
                &parent.fd,
                parent.inode,
                name,
                &self.layer,
                &self.directories,
            ),
            Whiteout::Reserved => Ok(()),
            Whiteout::Malformed => return Err(LayerError::BadWhiteout { path: path.shown() }),
        }
        .map_err(on(path, "hide what lies below"))
    }

    /// Makes room for a name.
    fn clear(&mut self, parent: &Parent, name: &[u8], path: &EntryPath) -> Result<(), LayerError> {
        self.last_parent = None;
        remove_all(&*parent.fd, name).map_err(on(path, "replace what was there"))
    }

    /// The directory at a path, reached through symbolic links inside the root and made where it
    /// is missing.
    fn parent(&mut self, path: &[u8]) -> Result<Parent, LayerError> {
        if let Some((last, parent)) = &self.last_parent
            && last == path
        {
            return Ok(parent.clone());
        }
        let parent = match self.open_parent(path) {
            Err(Errno::NOENT) => self.make_parents(path)?,
            outcome => outcome.map_err(|error| unreachable_parent(path, error))?,
        };
        self.last_parent = Some((path.to_vec(), parent.clone()));
        Ok(parent)
    }

    fn open_parent(&self, path: &[u8]) -> Result<Parent, Errno> {
        let fd = self.root.resolve(path, OFlags::DIRECTORY)?;
        let inode = rustix::fs::fstat(&fd)?.st_ino;
        Ok(Parent {
            fd: Rc::new(fd),
            inode,
        })
    }

    fn make_parents(&mut self, path: &[u8]) -> Result<Parent, LayerError> {
        let mut above = self
            .open_parent(b"")
            .map_err(|error| unreachable_parent(path, error))?;
        let ends = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at);
        let mut start = 0;
        for end in ends.chain([path.len()]) {
            let name = &path[start..end];
            above = match self.open_parent(&path[..end]) {
                Ok(parent) => parent,
                Err(Errno::NOENT) => {
                    self.directories.check_room(above.inode, name)?;
                    self.directories.touch(above.inode, self.layer.number);
                    match self.create_directory(&above, name) {
                        Ok((fd, inode)) => Parent {
                            fd: Rc::new(fd),
                            inode,
                        },
                        // A symbolic link to nowhere has the name.
                        Err(Errno::EXIST) => return Err(unreachable_parent(path, Errno::NOTDIR)),
                        Err(error) => return Err(failed(path, "make the directory", error)),
                    }
                }
                Err(error) => return Err(unreachable_parent(path, error)),
            };
            start = end + 1;
        }
        Ok(above)
    }

    fn create_directory(&mut self, parent: &Parent, name: &[u8]) -> Result<(OwnedFd, u64), Errno> {
        rustix::fs::mkdirat(&*parent.fd, name, Mode::RWXU)?;
        let fd = rustix::fs::openat(&*parent.fd, name, DIRECTORY, Mode::empty())?;
        let inode = rustix::fs::fstat(&fd)?.st_ino;
        self.directories.insert(inode, parent.inode, name);
        Ok((fd, inode))
    }
}

fn open_if_directory(
    parent: &Parent,
    name: &[u8],
    path: &EntryPath,
) -> Result<Option<(OwnedFd, u64)>, LayerError> {
    match rustix::fs::openat(&*parent.fd, name, DIRECTORY, Mode::empty()) {
        Ok(fd) => {
            let status = rustix::fs::fstat(&fd).map_err(on(path, "read the directory"))?;
            Ok(Some((fd, status.st_ino)))
        }
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
        Err(error) => Err(failed(path.as_bytes(), "open the directory", error)),
    }
}

fn unreachable_parent(path: &[u8], error: Errno) -> LayerError {
    match error {
        Errno::NOTDIR => LayerError::NotADirectory {
            path: super::shown(path),
        },
        Errno::LOOP => LayerError::SymlinkLoop {
            path: super::shown(path),
        },
        error => failed(path, "open the directory", error),
    }
}

fn failed(path: &[u8], action: &'static str, source: Errno) -> LayerError {
    LayerError::System {
        path: super::shown(path),
        action,
        source,
    }
}

fn on<'a>(path: &'a EntryPath, action: &'static str) -> impl FnOnce(Errno) -> LayerError + 'a {
    move |source| failed(path.as_bytes(), action, source)
}
