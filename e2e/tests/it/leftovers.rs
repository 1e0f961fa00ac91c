//! What processes leave on a host.

use std::fs;
use std::path::{Path, PathBuf};

/// The control groups that a process has made and not removed.
pub(crate) fn groups_of(pid: u32) -> Vec<PathBuf> {
    let prefix = format!("kiln-run-{pid}-");
    walk(Path::new("/sys/fs/cgroup"))
        .into_iter()
        .filter(|path| is_named(path, &prefix))
        .collect()
}

pub(crate) fn is_named(path: &Path, prefix: &str) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(prefix))
}

/// All directories and the files in them that are there now.
pub(crate) fn walk(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            found.extend(walk(&entry.path()));
        }
        found.push(entry.path());
    }
    found
}
