//! Whether the disk that the command writes to is full.

use kiln_guest_init::protocol::Seal;
use rustix::fs::statvfs;

/// What is left of a disk that counts as nothing: a file system that cannot take all of a write may take nothing of it.
const LITTLE_BYTES: u64 = 2 << 20;
const LITTLE_PART: u64 = 16;

#[derive(Debug)]
pub(crate) struct Gauge {
    little: Option<u64>,
}

impl Gauge {
    /// Of the root of a chamber.
    pub(crate) fn of(seal: &Seal) -> Self {
        Self {
            little: Some(LITTLE_BYTES.min(seal.disk_bytes / LITTLE_PART)),
        }
    }

    /// Of a command that writes to the host's own disk, which says nothing about the command.
    pub(crate) const fn none() -> Self {
        Self { little: None }
    }

    /// A root that cannot be looked at is not called full.
    pub(crate) fn is_full(&self) -> bool {
        let Some(little) = self.little else {
            return false;
        };
        statvfs("/").is_ok_and(|disk| {
            let left = disk.f_bavail.saturating_mul(disk.f_frsize);
            let no_room = disk.f_blocks > 0 && left <= little;
            let no_files = disk.f_files > 0 && disk.f_ffree == 0;
            no_room || no_files
        })
    }
}
