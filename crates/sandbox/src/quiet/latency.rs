//! Keeping CPUs out of deep sleep: a promise to the kernel that holds as long as a file is open.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};

use super::files::HostFiles;

const DEVICE: &str = "/dev/cpu_dma_latency";

/// Asks that waking up takes no time. The kernel forgets it when the file closes, also by a kill.
pub(super) fn hold_awake(files: &HostFiles) -> io::Result<File> {
    let mut device = OpenOptions::new().write(true).open(files.path(DEVICE))?;
    device.write_all(&0_i32.to_ne_bytes())?;
    Ok(device)
}
