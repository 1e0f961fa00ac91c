//! Sealed machines that outlive the chamber they were made for, so that the next job of the same image finds one.
//!
//! No command has ever run in them. What they know is what they were told before they were sealed, all of which is in
//! their [`Key`], and what they read from the disk of their image meanwhile.

use std::fs;
use std::os::unix::fs::MetadataExt as _;

use kiln_guest_init::protocol::Seal;

use super::ahead::Ahead;
use super::hypervisor::Shape;
use super::shelf::Shelf;
use crate::Error;

pub(super) type Kept = Shelf<Key, Ahead>;

/// What decides whether a chamber may go on from a sealed machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) base: BaseIdentity,
    pub(super) shape: Shape,
    /// The bounds inside the machine.
    pub(super) memory_bytes: u64,
    pub(super) processes: u32,
    pub(super) seal: Seal,
}

/// Which file a disk is. A guest remembers what it has read, so that another file at the same path will not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BaseIdentity {
    path: String,
    device: u64,
    inode: u64,
    bytes: u64,
    /// Seconds and nanoseconds of its last change, whatever was changed.
    changed: (i64, i64),
}

impl BaseIdentity {
    pub(super) fn of(path: &str) -> Result<Self, Error> {
        let found = fs::metadata(path).map_err(|error| Error::Rootfs {
            path: path.into(),
            reason: error.to_string(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            device: found.dev(),
            inode: found.ino(),
            bytes: found.len(),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}

/// What the host could give without swapping; `None` where it does not say.
pub(super) fn available_bytes() -> Option<u64> {
    read_available(&fs::read_to_string("/proc/meminfo").ok()?)
}

fn read_available(memory_info: &str) -> Option<u64> {
    let line = memory_info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_at_the_same_path_is_another_base() {
        let directory = tempfile::tempdir().unwrap();
        let [path, other] = ["base", "other"].map(|name| directory.path().join(name));
        fs::write(&path, "one").unwrap();
        fs::write(&other, "two").unwrap();
        let path = path.to_str().unwrap();
        let before = BaseIdentity::of(path).unwrap();
        assert_eq!(before, BaseIdentity::of(path).unwrap());
        fs::rename(&other, path).unwrap();
        assert_ne!(before, BaseIdentity::of(path).unwrap());
    }

    #[test]
    fn the_hosts_memory_is_read() {
        let told = "MemTotal: 9 kB\nMemAvailable:   8 kB\n";
        assert_eq!(read_available(told), Some(8 << 10));
        assert_eq!(read_available("MemTotal: 9 kB\n"), None);
        assert!(available_bytes().is_some());
    }
}
