//! The host's `/proc` and `/sys`, or a directory that stands for them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub(super) struct HostFiles {
    root: PathBuf,
}

impl HostFiles {
    pub(super) fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Where an absolute path of the host is.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A setting as the kernel shows it, without the line's end.
    pub(super) fn read(&self, path: &str) -> io::Result<String> {
        Ok(fs::read_to_string(self.path(path))?.trim().to_owned())
    }

    /// Writes a setting. Unlike `fs::write` it never makes a file: what the kernel does not offer is an error.
    pub(super) fn write(&self, path: &str, value: &str) -> io::Result<()> {
        use std::io::Write as _;
        let mut file = fs::OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(self.path(path))?;
        file.write_all(value.as_bytes())
    }

    /// The names in a directory that are made of `prefix` and a number, in the order of the numbers.
    pub(super) fn numbered(&self, directory: &str, prefix: &str) -> Vec<u32> {
        let entries = fs::read_dir(self.path(directory));
        let mut numbers: Vec<u32> = entries
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| {
                entry
                    .file_name()
                    .to_str()?
                    .strip_prefix(prefix)?
                    .parse()
                    .ok()
            })
            .collect();
        numbers.sort_unstable();
        numbers
    }
}

/// The chosen one of `always [madvise] never`; any other text as it is.
pub(super) fn chosen(text: &str) -> &str {
    text.split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or(text, |(chosen, _)| chosen)
}

/// Whether something is there at all.
pub(super) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chosen_one_is_between_brackets() {
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("performance"), "performance");
    }

    #[test]
    fn a_setting_the_host_lacks_is_not_made() {
        let root = tempfile::tempdir().unwrap();
        let files = HostFiles::new(root.path());
        assert!(files.write("/proc/sys/vm/swappiness", "10").is_err());
        assert!(!exists(&files.path("/proc/sys/vm/swappiness")));
    }
}
