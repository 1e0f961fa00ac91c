//! Reading a program before it is started, so that its start need not wait for a disk.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// What is more than this would take longer than it saves.
const MAX_BYTES: u64 = 32 << 20;

/// Reads the first of these files that is there. It is a courtesy: whatever goes wrong is told when the program is started.
pub(crate) fn read_first(paths: &[String]) {
    if let Some(file) = paths.iter().find_map(|path| open(path)) {
        let _ = io::copy(&mut File::from(file).take(MAX_BYTES), &mut io::sink());
    }
}

/// An image may have anything in the place of a program; only a file can be read without waiting for somebody.
fn open(path: &str) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = openat(CWD, path, flags, Mode::empty()).ok()?;
    let found = fstat(&file).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::RegularFile).then_some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_is_read() {
        assert!(open("/proc/self/exe").is_some());
        for path in ["/dev/null", "/", "/no/such/program"] {
            assert!(open(path).is_none(), "{path}");
        }
    }
}
