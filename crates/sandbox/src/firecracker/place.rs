//! The directory of one machine: what its monitor reads, its sockets and its logs. It goes with the machine, or at the
//! next start.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, chown, symlink};
use std::path::{Path, PathBuf, absolute};

use rustix::event::{Timespec, poll};
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

use super::jail::Inmate;
use crate::Error;
use crate::cgroup::fresh_name;
use crate::microvm::copy_with_holes;

/// The names that a monitor knows its files by.
pub(super) const API: &str = "api.sock";
pub(super) const VSOCK: &str = "vsock.sock";
pub(super) const LOG: &str = "log";
pub(super) const METRICS: &str = "metrics";
pub(super) const KERNEL: &str = "kernel";
pub(super) const INITRAMFS: &str = "initramfs";
pub(super) const BASE: &str = "base";
pub(super) const SCRATCH: &str = "scratch";
pub(super) const STATE: &str = "state";
pub(super) const MEMORY: &str = "memory";

/// What is kept of a monitor's log for an error.
const LOG_BYTES: usize = 1024;

/// A jailed monitor that was killed may still write for a moment.
const REMOVAL_ATTEMPTS: u32 = 100;
const REMOVAL_PAUSE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

#[derive(Debug)]
pub(super) struct Place {
    directory: PathBuf,
    /// What the monitor has as its working directory, and if it is jailed as its root.
    root: PathBuf,
    /// The same, open: by its path, a socket's name could be too long for the kernel.
    handle: OwnedFd,
    inmate: Option<Inmate>,
}

/// What a monitor does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Place {
    /// Makes a directory; for a jailed program it is the one that its jailer will use.
    pub(super) fn create(work_dir: &Path, jailed: Option<&Path>) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::host("cannot make a directory for a machine", error);
        let name = fresh_name().ok_or_else(|| failed(io::Error::other("no /proc/self/stat")))?;
        let directory = work_dir.join(&name);
        let root = match jailed.and_then(Path::file_name) {
            Some(program) => directory.join(program).join(&name).join("root"),
            None => directory.clone(),
        };
        DirBuilder::new()
            .mode(0o700)
            .recursive(true)
            .create(&root)
            .map_err(failed)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let handle = open(&root, flags, Mode::empty()).map_err(|errno| failed(errno.into()))?;
        let place = Self {
            directory,
            root,
            handle,
            inmate: jailed.map(|_| Inmate::fresh()),
        };
        // Firecracker writes to these, but does not make them.
        for file in [LOG, METRICS] {
            fs::write(place.root.join(file), "").map_err(failed)?;
            place.give_away(file).map_err(failed)?;
        }
        Ok(place)
    }

    /// Puts a file of the host here, under a name of ours.
    pub(super) fn put(&self, name: &str, source: &str, access: Access) -> Result<(), Error> {
        let put = match self.inmate {
            None => absolute(source).and_then(|source| symlink(source, self.root.join(name))),
            Some(_) => self.put_into_jail(name, source, access),
        };
        put.map_err(|error| Error::host(format!("cannot put {name} beside a machine"), error))
    }

    /// Nothing outside its root exists for a jailed monitor, so it gets the file itself, or a copy.
    fn put_into_jail(&self, name: &str, source: &str, access: Access) -> io::Result<()> {
        const ANYBODY_READS: u32 = 0o004;
        let target = self.root.join(name);
        let is_readable = fs::metadata(source)?.mode() & ANYBODY_READS != 0;
        if access == Access::Read && !is_readable {
            fs::copy(source, &target)?;
            return self.give_away(name);
        }
        if linkat(CWD, source, CWD, &target, AtFlags::SYMLINK_FOLLOW).is_err() {
            // It is on another disk, or the only name it ever had is gone. Its holes may be larger than the host's disk.
            copy_with_holes(&File::open(source)?, &File::create(&target)?)?;
        }
        match access {
            Access::Read => Ok(()),
            Access::Write => self.give_away(name),
        }
    }

    /// Makes a file the monitor's own.
    fn give_away(&self, name: &str) -> io::Result<()> {
        let Some(Inmate { id }) = self.inmate else {
            return Ok(());
        };
        chown(self.root.join(name), Some(id), Some(id))
    }

    /// A file here, by a path that processes of this user can open.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// A socket here, by a path that this process can connect to.
    pub(super) fn socket(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.handle.as_raw_fd()))
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) const fn inmate(&self) -> Option<Inmate> {
        self.inmate
    }

    /// Unique among machines of this host.
    pub(super) fn id(&self) -> String {
        self.directory
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// The end of the monitor's log.
    pub(super) fn last_words(&self) -> String {
        let log = fs::read(self.path(LOG)).unwrap_or_default();
        let end = &log[log.len().saturating_sub(LOG_BYTES)..];
        String::from_utf8_lossy(end).trim().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for _ in 1..REMOVAL_ATTEMPTS {
            if fs::remove_dir_all(&self.directory).is_ok() {
                return;
            }
            // Interrupted or not, the next attempt follows.
            let _ = poll(&mut [], Some(&REMOVAL_PAUSE));
        }
        if let Err(error) = fs::remove_dir_all(&self.directory) {
            tracing::warn!(path = %self.directory.display(), %error, "cannot remove, the next start will");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::microvm::HiddenFile;

    fn work_dir() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    #[test]
    fn nothing_is_left_of_a_place() {
        let work_dir = work_dir();
        drop(Place::create(work_dir.path(), None).unwrap());
        assert_eq!(fs::read_dir(work_dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_is_found_wherever_its_path_counts_from() {
        let work_dir = work_dir();
        let place = Place::create(work_dir.path(), None).unwrap();
        place.put(KERNEL, "Cargo.toml", Access::Read).unwrap();
        let read = fs::read_to_string(place.path(KERNEL)).unwrap();
        assert_eq!(read, fs::read_to_string("Cargo.toml").unwrap());
    }

    #[test]
    fn a_copy_into_a_jail_has_the_same_holes() {
        let work_dir = work_dir();
        let jail = Place::create(work_dir.path(), Some(Path::new("/bin/firecracker"))).unwrap();
        // One without a name cannot be linked after its first name is gone.
        let scratch = HiddenFile::create(work_dir.path()).unwrap();
        scratch.file().set_len(1 << 30).unwrap();
        for _ in 0..2 {
            jail.put(SCRATCH, &scratch.path(), Access::Write).unwrap();
            let placed = fs::metadata(jail.path(SCRATCH)).unwrap();
            assert_eq!((placed.len(), placed.blocks()), (1 << 30, 0));
            fs::remove_file(jail.path(SCRATCH)).unwrap();
        }
    }

    #[test]
    fn a_jail_gets_the_file_itself_and_what_is_written_belongs_to_the_inmate() {
        let work_dir = work_dir();
        let jail = Place::create(work_dir.path(), Some(Path::new("/bin/firecracker"))).unwrap();
        let disk = work_dir.path().join("disk");
        fs::write(&disk, "bytes").unwrap();
        jail.put(BASE, disk.to_str().unwrap(), Access::Read)
            .unwrap();
        let placed = fs::symlink_metadata(jail.path(BASE)).unwrap();
        assert_eq!(placed.ino(), fs::metadata(&disk).unwrap().ino());
        jail.put(SCRATCH, disk.to_str().unwrap(), Access::Write)
            .unwrap();
        let inmate = jail.inmate().unwrap();
        assert_eq!(fs::metadata(jail.path(SCRATCH)).unwrap().uid(), inmate.id);
    }

    #[test]
    fn what_only_root_can_read_is_copied_into_a_jail() {
        use std::os::unix::fs::PermissionsExt as _;
        let work_dir = work_dir();
        let jail = Place::create(work_dir.path(), Some(Path::new("/bin/firecracker"))).unwrap();
        let secret = work_dir.path().join("secret");
        fs::write(&secret, "bytes").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        jail.put(BASE, secret.to_str().unwrap(), Access::Read)
            .unwrap();
        assert_eq!(fs::metadata(&secret).unwrap().uid(), 0);
        let placed = fs::metadata(jail.path(BASE)).unwrap();
        assert_eq!(placed.uid(), jail.inmate().unwrap().id);
    }
}
