//! What a chamber's disk has otherwise than the file system we make: no journal, no checksums, and exactly the room that
//! was asked for.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

const AT: u64 = 1024;
const BYTES: usize = 1024;

/// Where the numbers are.
const BLOCKS: usize = 0x04;
const RESERVED_BLOCKS: usize = 0x08;
const FREE_BLOCKS: usize = 0x0c;
const USER_OF_RESERVED: usize = 0x50;
const COMPATIBLE_FEATURES: usize = 0x5c;
const READ_COMPATIBLE_FEATURES: usize = 0x64;
const JOURNAL_INODE: usize = 0xe0;

const HAS_JOURNAL: u32 = 4;
const METADATA_CHECKSUMS: u32 = 0x400;

/// The kernel keeps so many blocks for itself: a part, or at most so many.
const KERNELS_PART: u32 = 50;
const KERNELS_MOST: u32 = 4096;

/// Nobody: no chamber has this host id.
const NO_USER: u16 = u16::MAX;

/// Sets it. Nobody will ever replay a journal, whose writing goes on beside what is measured, and a tenth of the time for a
/// new directory goes into checksums. Blocks beyond those that were asked for are reserved for a user that does not exist.
pub(super) fn adapt(disk: &File, wanted_blocks: u64) -> io::Result<()> {
    let mut superblock = [0; BYTES];
    disk.read_exact_at(&mut superblock, AT)?;
    let mut fields = Fields(&mut superblock);

    let kernels = (fields.get(BLOCKS) / KERNELS_PART).min(KERNELS_MOST);
    let free = fields.get(FREE_BLOCKS).saturating_sub(kernels);
    let reserved = u64::from(free)
        .checked_sub(wanted_blocks)
        .and_then(|reserved| u32::try_from(reserved).ok())
        .ok_or_else(|| io::Error::other("the file system is too small"))?;
    fields.set(RESERVED_BLOCKS, reserved);
    let nobody = u32::from(NO_USER);
    // Its group is the upper half.
    fields.set(USER_OF_RESERVED, nobody << 16 | nobody);

    let features = fields.get(COMPATIBLE_FEATURES);
    fields.set(COMPATIBLE_FEATURES, features & !HAS_JOURNAL);
    fields.set(JOURNAL_INODE, 0);
    let features = fields.get(READ_COMPATIBLE_FEATURES);
    fields.set(READ_COMPATIBLE_FEATURES, features & !METADATA_CHECKSUMS);
    disk.write_all_at(&superblock, AT)
}

struct Fields<'a>(&'a mut [u8; BYTES]);

impl Fields<'_> {
    fn get(&self, at: usize) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.0[at..at + 4]);
        u32::from_le_bytes(bytes)
    }

    fn set(&mut self, at: usize, value: u32) {
        self.0[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
}
