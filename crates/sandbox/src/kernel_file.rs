//! Files that the kernel makes up as they are read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// More than any file that is read whole here, and than the first line of any other.
const ENOUGH: usize = 4096;

/// One that is open, to be read more than once.
#[derive(Debug)]
pub(crate) struct KernelFile(File);

impl KernelFile {
    pub(crate) fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        File::open(path).map(Self)
    }

    /// What one read gives: all of a short file, or the beginning of a long one. `fs::read_to_string` would ask for a size
    /// that such a file does not have, and read it in many small parts.
    pub(crate) fn read(&self) -> io::Result<String> {
        let mut bytes = [0; ENOUGH];
        let count = self.0.read_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes[..count]).into_owned())
    }
}

/// Opens a file for a single look at it.
pub(crate) fn read_once(path: impl AsRef<Path>) -> io::Result<String> {
    KernelFile::open(path)?.read()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_file_is_read_whole() {
        let whole = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        assert_eq!(read_once("/proc/self/cgroup").unwrap(), whole);
    }

    #[test]
    fn of_a_long_file_its_first_line_is_read() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let long = "first\n".to_owned() + &"x".repeat(2 * ENOUGH);
        std::fs::write(&file, long).unwrap();
        let read = read_once(file.path()).unwrap();
        assert_eq!(read.lines().next(), Some("first"));
        assert_eq!(read.len(), ENOUGH);
    }

    #[test]
    fn a_file_that_is_read_again_tells_what_is_true_now() {
        let name = KernelFile::open("/proc/thread-self/comm").unwrap();
        rustix::thread::set_name(c"before").unwrap();
        assert_eq!(name.read().unwrap(), "before\n");
        rustix::thread::set_name(c"after").unwrap();
        assert_eq!(name.read().unwrap(), "after\n");
    }

    #[test]
    fn a_file_that_is_not_there_is_an_error() {
        let missing = read_once("/proc/self/no-such-file").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
