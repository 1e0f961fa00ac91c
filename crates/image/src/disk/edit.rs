//! Changes to a finished disk that move nothing: other bytes in the place of as many, with the checksums over them.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use mkext4::csum;
use mkext4::reader::Fs;
use mkext4::spec::{BLOCK_SIZE, DirentIter, INODE_SIZE, Inode, iflags};

/// At the end of each block of a directory: an entry that is none, for the checksum.
const TAIL_BYTES: usize = 12;
const TAIL_KIND: u8 = 0xde;

/// Where `..` is in the first block of a directory, behind `.`.
const PARENT_ENTRY: usize = 12;

/// In an entry of a directory.
const ENTRY_LENGTH: usize = 4;
const ENTRY_NAME_LENGTH: usize = 6;
const ENTRY_NAME: usize = 8;

/// In an inode.
const INODE_FLAGS: usize = 0x20;
const INODE_BLOCK: usize = 0x28;
const INODE_CHECKSUM: usize = 0x7c;
const INODE_CHECKSUM_HIGH: usize = 0x82;

/// What is in a directory.
pub(super) struct Listed {
    by_name: HashMap<Vec<u8>, u32>,
}

impl Listed {
    pub(super) fn inode(&self, name: &str) -> mkext4::Result<u32> {
        let inode = self.by_name.get(name.as_bytes()).copied();
        inode.ok_or_else(|| io::Error::other(format!("{name:?} is not where it was put")).into())
    }
}

pub(super) struct Edit {
    disk: File,
    fs: Fs<File>,
}

impl Edit {
    pub(super) fn open(disk: &Path) -> mkext4::Result<Self> {
        let disk = OpenOptions::new().read(true).write(true).open(disk)?;
        Ok(Self {
            fs: Fs::open(disk.try_clone()?)?,
            disk,
        })
    }

    pub(super) fn list(&self, directory: u32) -> mkext4::Result<Listed> {
        let entries = self.fs.read_dir(directory)?.into_iter();
        let by_name = entries.map(|entry| (entry.name, entry.inode)).collect();
        Ok(Listed { by_name })
    }

    /// Gives entries of a directory other names, which must not take more room. An index by the names' hashes goes: it would
    /// lead elsewhere now, and a directory is as good without one, though slower to search.
    pub(super) fn rename(
        &self,
        directory: u32,
        names: &BTreeMap<&[u8], &[u8]>,
    ) -> mkext4::Result<()> {
        let inode = self.fs.inode(directory)?;
        let extents = self.fs.extents(directory, &inode)?;
        let is_indexed = inode.flags & iflags::INDEX != 0;
        let seed = csum::inode_seed(self.fs.fs_seed(), directory, inode.generation);
        for logical in 0..inode.size / BLOCK_SIZE as u64 {
            let block = self.fs.file_block(&extents, logical).ok_or_else(hole)?;
            let mut bytes = self.fs.read_block(block)?;
            if is_indexed {
                drop_index(&mut bytes, logical == 0);
            }
            rename_in(&mut bytes, names)?;
            let checksum = csum::dirent_block(seed, &bytes);
            put(&mut bytes, BLOCK_SIZE - 4, &checksum.to_le_bytes());
            self.disk.write_all_at(&bytes, block * BLOCK_SIZE as u64)?;
        }
        if is_indexed {
            let flags = inode.flags & !iflags::INDEX;
            self.change_inode(directory, &inode, INODE_FLAGS, &flags.to_le_bytes())?;
        }
        Ok(())
    }

    /// Has a symbolic link lead elsewhere, to a target of the same length.
    pub(super) fn lead(&self, link: u32, target: &[u8]) -> mkext4::Result<()> {
        let inode = self.fs.inode(link)?;
        if inode.fast_symlink_target().is_some() {
            return self.change_inode(link, &inode, INODE_BLOCK, target);
        }
        let extents = self.fs.extents(link, &inode)?;
        let block = self.fs.file_block(&extents, 0).ok_or_else(hole)?;
        self.disk.write_all_at(target, block * BLOCK_SIZE as u64)?;
        Ok(())
    }

    fn change_inode(
        &self,
        number: u32,
        inode: &Inode,
        at: usize,
        bytes: &[u8],
    ) -> mkext4::Result<()> {
        let mut raw = self.fs.inode_raw(number)?;
        put(&mut raw, at, bytes);
        let checksum = csum::inode(self.fs.fs_seed(), number, inode.generation, &raw).to_le_bytes();
        put(&mut raw, INODE_CHECKSUM, &checksum[..2]);
        put(&mut raw, INODE_CHECKSUM_HIGH, &checksum[2..]);
        let per_group = self.fs.superblock().inodes_per_group;
        let (group, index) = ((number - 1) / per_group, (number - 1) % per_group);
        let table = self.fs.group_desc(u64::from(group))?.inode_table;
        let offset = table * BLOCK_SIZE as u64 + u64::from(index) * INODE_SIZE as u64;
        self.disk.write_all_at(&raw, offset)?;
        Ok(())
    }
}

/// Makes a block of an index one of entries. The first has the directory itself and the one above; a block that begins with an
/// entry as long as itself has nothing else; others are of entries already.
fn drop_index(block: &mut [u8], is_first: bool) {
    let is_node = block[..ENTRY_LENGTH] == [0; 4] && length_at(block, 0) == BLOCK_SIZE;
    let last = match (is_first, is_node) {
        (true, _) => PARENT_ENTRY,
        (false, true) => 0,
        (false, false) => return,
    };
    let used = if is_first {
        PARENT_ENTRY + ENTRY_NAME + "..".len()
    } else {
        0
    };
    block[used..].fill(0);
    put_length(block, last, BLOCK_SIZE - TAIL_BYTES - last);
    let tail = BLOCK_SIZE - TAIL_BYTES;
    put_length(block, tail, TAIL_BYTES);
    block[tail + ENTRY_NAME - 1] = TAIL_KIND;
}

fn rename_in(block: &mut [u8], names: &BTreeMap<&[u8], &[u8]>) -> mkext4::Result<()> {
    let mut changes = Vec::new();
    for entry in DirentIter::new(block) {
        let entry = entry?;
        if let Some(name) = names.get(entry.name) {
            changes.push((entry.offset, entry.name.len(), *name));
        }
    }
    for (entry, old_length, name) in changes {
        let length = u8::try_from(name.len()).map_err(io::Error::other)?;
        block[entry + ENTRY_NAME_LENGTH] = length;
        block[entry + ENTRY_NAME..][..old_length].fill(0);
        put(block, entry + ENTRY_NAME, name);
    }
    Ok(())
}

fn length_at(block: &[u8], entry: usize) -> usize {
    let at = entry + ENTRY_LENGTH;
    usize::from(u16::from_le_bytes([block[at], block[at + 1]]))
}

fn put_length(block: &mut [u8], entry: usize, length: usize) {
    let length = u16::try_from(length).expect("an entry is no longer than a block");
    put(block, entry + ENTRY_LENGTH, &length.to_le_bytes());
}

fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..][..new.len()].copy_from_slice(new);
}

fn hole() -> mkext4::Error {
    io::Error::other("there is a hole where there must be none").into()
}
