//! Reading and writing control files.

use std::fs;
use std::io;
use std::path::Path;

use crate::kernel_file::read_once;

/// Writes a control file. Unlike `fs::write` it never creates one: a file the kernel does not offer is an error.
pub(super) fn write(group: &Path, file: &str, value: &str) -> io::Result<()> {
    use std::io::Write as _;
    fs::OpenOptions::new()
        .write(true)
        .open(group.join(file))?
        .write_all(value.as_bytes())
}

/// A control file that holds one number.
pub(super) fn number(group: &Path, file: &str) -> Option<u64> {
    read_once(group.join(file)).ok()?.trim().parse().ok()
}

/// The number after `key` in a control file of `key number` lines.
pub(super) fn keyed_number(group: &Path, file: &str, key: &str) -> Option<u64> {
    let text = read_once(group.join(file)).ok()?;
    text.lines().find_map(|line| {
        line.strip_prefix(key)?
            .strip_prefix(' ')?
            .trim()
            .parse()
            .ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_matched_whole() {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("memory.events"), "oom 7\noom_kill 3\n").unwrap();
        assert_eq!(keyed_number(group.path(), "memory.events", "oom"), Some(7));
        assert_eq!(
            keyed_number(group.path(), "memory.events", "oom_kill"),
            Some(3)
        );
        assert_eq!(keyed_number(group.path(), "memory.events", "max"), None);
    }

    #[test]
    fn a_control_file_the_kernel_lacks_is_not_created() {
        let group = tempfile::tempdir().unwrap();
        assert!(write(group.path(), "pids.max", "1").is_err());
        assert!(!group.path().join("pids.max").exists());
    }
}
