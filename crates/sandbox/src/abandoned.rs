//! Directories that say whose they are.

use std::fs;
use std::io;
use std::path::Path;

use crate::cgroup::owner_is_gone;

/// Removes those whose process is gone.
pub(crate) fn remove_directories(work_dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(work_dir)?.flatten() {
        if entry.file_name().to_str().is_some_and(owner_is_gone) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::fresh_name;

    #[test]
    fn only_what_a_dead_process_left_is_removed() {
        let work_dir = tempfile::tempdir().unwrap();
        let mine = work_dir.path().join(fresh_name().unwrap());
        let dead = work_dir.path().join("kiln-run-1-0-7");
        let other = work_dir.path().join("somebody-elses");
        for directory in [&mine, &dead, &other] {
            fs::create_dir(directory).unwrap();
        }
        remove_directories(work_dir.path()).unwrap();
        assert!(mine.exists());
        assert!(!dead.exists());
        assert!(other.exists());
    }
}
