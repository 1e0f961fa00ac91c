//! An unpacked image as a disk with an ext4 file system: the same bytes for the same tree.

mod edit;
mod stand_ins;
mod tree;

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use mkext4::sink::FileSink;
use mkext4::{FsBuilder, InodeCount, InodeHandle, Meta, Options, ROOT, SpecialKind};

use crate::owners::{Owner, Owners};
use stand_ins::StandIns;
use tree::Found;

const BLOCK_BYTES: u64 = 4096;
const INODE_BYTES: u64 = 256;

/// What ext4 keeps for itself.
const RESERVED_INODES: u64 = 16;

/// The smallest a journal can be. The disk is only ever read.
const JOURNAL_BLOCKS: u32 = 1024;

/// For the journal, bitmaps and descriptors. What is not used stays a hole.
const OVERHEAD_BYTES: u64 = 16 << 20;

#[derive(Debug, thiserror::Error)]
pub enum DiskError {
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot put {path} on a disk")]
    Entry {
        path: PathBuf,
        source: mkext4::Error,
    },
    #[error("cannot make a file system")]
    FileSystem { source: mkext4::Error },
}

/// Writes the tree below `root` to a new disk image. Owners and modes are those of the files unless others are given.
pub(crate) fn write(root: &Path, owners: Option<&Owners>, disk: &Path) -> Result<(), DiskError> {
    let found = tree::walk(root)?;
    let unmade = |source| DiskError::FileSystem { source };
    let mut builder = FsBuilder::new(options(&found)).map_err(unmade)?;
    let names = StandIns::choose(&found);
    let files = Declaration::new(&mut builder, root, owners).declare(&found, &names)?;
    let layout = builder.seal().map_err(unmade)?;
    let mut sink =
        FileSink::create(disk, layout.image_len()).map_err(|error| unmade(error.into()))?;
    let mut writer = layout.writer(&mut sink).map_err(unmade)?;
    for (handle, path) in files {
        let mut file = File::open(path).map_err(unreadable(path))?;
        writer
            .fill(handle, &mut file)
            .map_err(|source| DiskError::Entry {
                path: path.to_owned(),
                source,
            })?;
    }
    writer.finish().map_err(unmade)?;
    names.give_way(disk).map_err(unmade)
}

fn options(found: &[Found]) -> Options {
    let content: u64 = found.iter().map(room).sum();
    let inodes = found.len() as u64 + RESERVED_INODES;
    let size = content + content / 8 + inodes * INODE_BYTES + OVERHEAD_BYTES;
    let mut options = Options::new(size.next_multiple_of(BLOCK_BYTES), *b"kiln-image-disk1", 0);
    options.reserved_percent = 0;
    options.journal_blocks = Some(JOURNAL_BLOCKS);
    options.inodes = InodeCount::Exact(u32::try_from(inodes).unwrap_or(u32::MAX));
    options
}

/// What an entry needs at most: its content, its name, and a block for a directory's first names or a long link.
fn room(found: &Found) -> u64 {
    const NAME_BYTES: u64 = 2 * 264;
    let content = if found.metadata.is_file() {
        found.metadata.len().next_multiple_of(BLOCK_BYTES)
    } else {
        0
    };
    content + NAME_BYTES + BLOCK_BYTES
}

/// Tells the builder what there is.
struct Declaration<'a> {
    builder: &'a mut FsBuilder,
    root: &'a Path,
    owners: Option<&'a Owners>,
    /// Where nothing is said of owners, the id of an ordinary user who has unpacked means nothing, and becomes root's.
    keep_owners: bool,
    by_inode: BTreeMap<(u64, u64), InodeHandle>,
}

impl<'a> Declaration<'a> {
    fn new(builder: &'a mut FsBuilder, root: &'a Path, owners: Option<&'a Owners>) -> Self {
        Self {
            builder,
            root,
            owners,
            keep_owners: owners.is_none() && rustix::process::geteuid().is_root(),
            by_inode: BTreeMap::new(),
        }
    }

    /// The files whose content is still to come, in the order in which it has to.
    fn declare<'f>(
        mut self,
        found: &'f [Found],
        names: &StandIns<'_>,
    ) -> Result<Vec<(InodeHandle, &'f Path)>, DiskError> {
        let root = self.root;
        let metadata = root.symlink_metadata().map_err(unreadable(root))?;
        let meta = self.meta(root, &metadata);
        self.builder
            .set_meta(ROOT, meta)
            .map_err(|source| DiskError::FileSystem { source })?;
        let mut handles = Vec::with_capacity(found.len());
        let mut files = Vec::new();
        for (index, entry) in found.iter().enumerate() {
            let parent = entry.parent.map_or(ROOT, |index| handles[index]);
            let known = self.by_inode.len();
            let written = (names.name(index), names.target(index));
            let handle = self
                .add(parent, entry, written)
                .map_err(|source| DiskError::Entry {
                    path: entry.path.clone(),
                    source,
                })?;
            let is_new = self.by_inode.len() > known;
            if entry.metadata.is_file() && entry.metadata.len() > 0 && is_new {
                files.push((handle, entry.path.as_path()));
            }
            handles.push(handle);
        }
        Ok(files)
    }

    fn add(
        &mut self,
        parent: InodeHandle,
        entry: &Found,
        (name, target): (&str, Option<&str>),
    ) -> mkext4::Result<InodeHandle> {
        let metadata = &entry.metadata;
        let inode = (metadata.dev(), metadata.ino());
        if let Some(known) = self.by_inode.get(&inode) {
            self.builder.hardlink(parent, name, *known)?;
            return Ok(*known);
        }
        let meta = self.meta(&entry.path, metadata);
        let kind = metadata.file_type();
        let handle = if kind.is_dir() {
            self.builder.mkdir(parent, name, meta)?
        } else if kind.is_file() {
            self.builder.file(parent, name, meta, metadata.len())?
        } else if let Some(target) = target {
            self.builder.symlink(parent, name, target, meta)?
        } else {
            self.builder.mknod(parent, name, meta, special(metadata))?
        };
        for (name, value) in &entry.attributes {
            self.builder.set_xattr(handle, name, value)?;
        }
        self.by_inode.insert(inode, handle);
        Ok(handle)
    }

    fn meta(&self, path: &Path, metadata: &Metadata) -> Meta {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        let told = self
            .owners
            .and_then(|owners| owners.get(below.as_os_str().as_bytes()));
        let Owner { uid, gid, mode } = told.unwrap_or_else(|| self.found_owner(metadata));
        let nanoseconds = u32::try_from(metadata.mtime_nsec()).unwrap_or(0);
        Meta::new(mode, uid, gid, (metadata.mtime().max(0), nanoseconds))
    }

    fn found_owner(&self, metadata: &Metadata) -> Owner {
        let (uid, gid) = if self.keep_owners {
            (metadata.uid(), metadata.gid())
        } else {
            (0, 0)
        };
        let mode = u16::try_from(metadata.mode() & 0o7777).expect("twelve bits fit into sixteen");
        Owner { uid, gid, mode }
    }
}

fn special(metadata: &Metadata) -> SpecialKind {
    let kind = metadata.file_type();
    let major = rustix::fs::major(metadata.rdev());
    let minor = rustix::fs::minor(metadata.rdev());
    if kind.is_char_device() {
        SpecialKind::Char { major, minor }
    } else if kind.is_block_device() {
        SpecialKind::Block { major, minor }
    } else if kind.is_fifo() {
        SpecialKind::Fifo
    } else {
        SpecialKind::Socket
    }
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> DiskError + '_ {
    move |source| DiskError::Read {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
