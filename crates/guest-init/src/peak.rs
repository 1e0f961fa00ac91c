//! The most memory that a machine's chamber had.

use std::fs::File;
use std::os::unix::fs::FileExt as _;

use kiln_guest_init::protocol::{Scratch, Seal};

use crate::machine::MEMORY_PEAK;

/// Where the kernel counts it. It is opened while it can be seen: a chamber has no way to it.
pub(crate) struct Peak(Option<File>);

impl Peak {
    /// None on a host, which counts for itself, and in a machine whose kernel does not tell.
    pub(crate) fn open(seal: &Seal) -> Self {
        Self(match seal.scratch {
            Scratch::Memory | Scratch::Handed { .. } => None,
            Scratch::Disk { .. } => File::open(MEMORY_PEAK).ok(),
        })
    }

    /// Zero where nobody counts.
    pub(crate) fn bytes(&self) -> u64 {
        let mut text = [0; 32];
        let read = self
            .0
            .as_ref()
            .and_then(|file| file.read_at(&mut text, 0).ok());
        let digits = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or_default();
        digits.trim().parse().unwrap_or(0)
    }
}
