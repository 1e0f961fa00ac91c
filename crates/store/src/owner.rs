//! One owner for a `SQLite` file: a locked file beside it that says who has it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::Error;

/// Enough for a process id and an address.
const LONGEST: u64 = 1_024;

/// Who has a database open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub pid: u32,
    /// Where the owner can be reached, if it said so.
    pub address: Option<String>,
}

impl Owner {
    /// The process that has the database at `path` open now, if any.
    pub fn of(path: &Path) -> Result<Option<Self>, Error> {
        let lock_path = lock_path(path);
        let Ok(mut file) = File::open(&lock_path) else {
            return Ok(None);
        };
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => Ok(None),
            Err(Errno::WOULDBLOCK) => Ok(read(&mut file)),
            Err(error) => Err(Error::Refused(format!(
                "{} cannot be locked: {error}",
                lock_path.display()
            ))),
        }
    }
}

/// The lock, held until it is dropped or the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct OwnerLock {
    file: File,
}

impl OwnerLock {
    pub(crate) fn take(database: &Path, address: Option<&str>) -> Result<Self, Error> {
        let path = lock_path(database);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| refuse_directory(database, &error))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => return Err(refuse_second(database, read(&mut file))),
            Err(error) => {
                return Err(Error::Refused(format!(
                    "{} cannot be locked: {error}",
                    path.display()
                )));
            }
        }
        let mut lock = Self { file };
        lock.announce(address)?;
        Ok(lock)
    }

    /// Writes down who we are.
    pub(crate) fn announce(&mut self, address: Option<&str>) -> Result<(), Error> {
        let text = format!("{}\n{}\n", std::process::id(), address.unwrap_or_default());
        self.file
            .set_len(0)
            .and_then(|()| self.file.rewind())
            .and_then(|()| self.file.write_all(text.as_bytes()))
            .map_err(|error| Error::Refused(format!("the lock file cannot be written: {error}")))
    }
}

fn lock_path(database: &Path) -> PathBuf {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

fn read(file: &mut File) -> Option<Owner> {
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    let pid = lines.next()?.parse().ok()?;
    let address = lines
        .next()
        .filter(|line| !line.is_empty())
        .map(str::to_owned);
    Some(Owner { pid, address })
}

fn refuse_second(database: &Path, owner: Option<Owner>) -> Error {
    let path = database.display();
    let who = match owner {
        Some(Owner {
            pid,
            address: Some(address),
        }) => format!("process {pid} at {address}"),
        Some(Owner { pid, address: None }) => format!("process {pid}"),
        None => "another process".into(),
    };
    Error::Refused(format!(
        "{path} is in use by {who}; stop it, or talk to it instead"
    ))
}

fn refuse_directory(database: &Path, error: &std::io::Error) -> Error {
    let directory = match database.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.display().to_string(),
        _ => ".".into(),
    };
    let path = database.display();
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "there are forty kinds; these have advice"
    )]
    let line = match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!(
                "{path} cannot be made: the directory {directory} does not exist; create it, or give another path"
            )
        }
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            format!(
                "{path} cannot be made: the directory {directory} is not writable; give this user the right, or another path"
            )
        }
        _ => format!("{path} cannot be made in {directory}: {error}"),
    };
    Error::Refused(line)
}
