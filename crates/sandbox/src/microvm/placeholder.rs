//! What is in the place of disks while a machine is booted and written down.
//!
//! The kernel of a machine that goes on from there believes its disks to be as large as these. The file system on a disk
//! tells how large it really is, and a kernel only minds if that is more than what it believes. It cannot be told to look
//! again: its driver would have to start the device anew, which Firecracker's devices do not know how to do.

use std::path::Path;

use super::file::HiddenFile;
use super::hypervisor::Disks;
use crate::Error;

/// Less than the largest file of any file system that a host is likely to have, and more than a disk is likely to be.
const BYTES: u64 = 2 << 40;

/// Two disks with nothing on them.
pub(crate) struct Placeholders([HiddenFile; 2]);

impl Placeholders {
    pub(crate) fn create(work_dir: &Path) -> Result<Self, Error> {
        let empty = || {
            let file = HiddenFile::create(work_dir)?;
            file.file()
                .set_len(BYTES)
                .map_err(|error| Error::host("cannot make room for a template", error))?;
            Ok::<_, Error>(file)
        };
        Ok(Self([empty()?, empty()?]))
    }

    pub(crate) fn disks(&self) -> Disks {
        let Self([base, scratch]) = self;
        Disks {
            base: base.path(),
            scratch: scratch.path(),
        }
    }
}

impl Disks {
    /// Whether a machine can go on with these in the place of placeholders.
    pub(crate) fn fit_placeholders(&self) -> bool {
        [&self.base, &self.scratch]
            .into_iter()
            // What cannot be looked at cannot be opened either, which is told then.
            .all(|disk| std::fs::metadata(disk).map_or(true, |found| found.len() <= BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_disks_that_are_larger_than_placeholders_do_not_fit() {
        let directory = tempfile::tempdir().unwrap();
        let placeholders = Placeholders::create(directory.path()).unwrap();
        assert!(placeholders.disks().fit_placeholders());
        let scratch = &placeholders.0[1];
        assert_eq!(scratch.allocated_bytes(), 0);
        scratch.file().set_len(BYTES + 512).unwrap();
        assert!(!placeholders.disks().fit_placeholders());
    }
}
