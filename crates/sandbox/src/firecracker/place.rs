//! The directory of one machine: its sockets and its logs. It goes with the machine, or at the next start.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::cgroup::name::{self, Owner};

#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    pub(super) fn create(work_dir: &Path) -> Result<Self, Error> {
        let failed = |error| Error::host("cannot make a directory for a machine", error);
        let owner = Owner::this_process()
            .ok_or_else(|| failed(std::io::Error::other("no /proc/self/stat")))?;
        let place = Self(work_dir.join(name::fresh(owner)));
        fs::create_dir(&place.0).map_err(failed)?;
        // Firecracker writes to these, but does not make them.
        for file in [place.log(), place.metrics()] {
            fs::write(file, "").map_err(failed)?;
        }
        Ok(place)
    }

    pub(super) fn api(&self) -> PathBuf {
        self.0.join("api.sock")
    }

    pub(super) fn vsock(&self) -> PathBuf {
        self.0.join("vsock.sock")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.0.join("log")
    }

    pub(super) fn metrics(&self) -> PathBuf {
        self.0.join("metrics")
    }

    pub(super) fn id(&self) -> String {
        self.0
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "cannot remove, the next start will");
        }
    }
}

/// Removes the directories of machines whose process is gone.
pub(super) fn sweep(work_dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(work_dir)?.flatten() {
        let owner = entry.file_name().to_str().and_then(name::owner_of);
        if owner.is_some_and(|owner| !owner.is_alive()) {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_process_left_is_swept() {
        let work_dir = tempfile::tempdir().unwrap();
        let mine = Place::create(work_dir.path()).unwrap();
        let dead = work_dir.path().join("kiln-run-1-0-7");
        let other = work_dir.path().join("somebody-elses");
        fs::create_dir(&dead).unwrap();
        fs::create_dir(&other).unwrap();
        sweep(work_dir.path()).unwrap();
        assert!(mine.log().exists());
        assert!(!dead.exists());
        assert!(other.exists());
    }

    #[test]
    fn nothing_is_left_of_a_place() {
        let work_dir = tempfile::tempdir().unwrap();
        drop(Place::create(work_dir.path()).unwrap());
        assert_eq!(fs::read_dir(work_dir.path()).unwrap().count(), 0);
    }
}
