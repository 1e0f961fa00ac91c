//! The disk a run may write to: an empty ext4 file system, mostly holes until something is written.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use mkext4::{FsBuilder, InodeCount, Options, RegionSink};

use super::file::HiddenFile;
use crate::Error;

/// The file system takes a part of its disk for itself: tables of inodes and a journal.
const OVERHEAD_BYTES: u64 = 8 << 20;
const BLOCK_BYTES: u64 = 4096;

/// The smallest a journal can be; nobody will ever replay it.
const JOURNAL_BLOCKS: u32 = 1024;

/// A disk on which `bytes` can be written, in `inodes` files. It has no name and ends with its last user.
pub(crate) fn create(directory: &Path, bytes: u64, inodes: u64) -> Result<HiddenFile, Error> {
    const INODE_BYTES: u64 = 256;
    let size = bytes
        .saturating_add(OVERHEAD_BYTES)
        .saturating_add(inodes.saturating_mul(INODE_BYTES))
        .next_multiple_of(BLOCK_BYTES);
    let disk = HiddenFile::create(directory)?;
    format(disk.file(), size, inodes)
        .map_err(|error| Error::host("cannot make a scratch disk", io::Error::other(error)))?;
    Ok(disk)
}

fn format(file: &File, size: u64, inodes: u64) -> mkext4::Result<()> {
    let mut options = Options::new(size, *b"kiln-scratch-ext", 0);
    options.reserved_percent = 0;
    options.journal_blocks = Some(JOURNAL_BLOCKS);
    options.inodes = InodeCount::Exact(u32::try_from(inodes).unwrap_or(u32::MAX));
    let layout = FsBuilder::new(options)?.seal()?;
    file.set_len(layout.image_len())?;
    layout.writer(&mut Sparse(file))?.finish()?;
    Ok(())
}

/// Writes what is not zero; the rest stays a hole.
struct Sparse<'a>(&'a File);

impl RegionSink for Sparse<'_> {
    fn data(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn zeros(&mut self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }
}
