//! Putting a new program in place, and taking it back if it does not come up.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader};
use std::path::Path;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::fetch::hexadecimal;
use super::{Candidate, Program, UpdateError, failed};

/// How often a new program may start without ever reaching its server.
const MAX_STARTS: u32 = 3;

/// Which program did not come up here.
const REJECTED: &str = ".rejected";

/// For how long it is not tried again.
const REJECTED_FOR: Duration = Duration::from_hours(24);

/// What a start means for the program on trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing is on trial.
    Settled,
    /// A new program starts, and has to prove itself.
    OnTrial,
    /// The new program did not prove itself. The old one is in place again and should be started.
    RolledBack,
}

impl Program {
    /// Puts a candidate in the place of this program, which is kept beside it.
    pub fn swap(&self, candidate: Candidate) -> Result<(), UpdateError> {
        let (old, trial) = (self.beside(".old"), self.beside(".trial"));
        unless_gone(fs::remove_file(&old)).map_err(failed("remove", &old))?;
        // A second name for the same file: this program never lacks one.
        fs::hard_link(&self.path, &old).map_err(failed("keep", &self.path))?;
        write_durably(&trial, "0")?;
        let new = candidate.into_path();
        fs::rename(&new, &self.path).map_err(failed("replace", &self.path))?;
        sync_directory_of(&self.path)
    }

    /// To be called once at each start.
    pub fn start(&self) -> Result<Standing, UpdateError> {
        let trial = self.beside(".trial");
        let starts: u32 = match fs::read_to_string(&trial) {
            Ok(text) => text.trim().parse().unwrap_or(MAX_STARTS),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Standing::Settled),
            Err(error) => return Err(failed("read", &trial)(error)),
        };
        if starts < MAX_STARTS {
            write_durably(&trial, &(starts + 1).to_string())?;
            return Ok(Standing::OnTrial);
        }
        self.roll_back()?;
        Ok(Standing::RolledBack)
    }

    /// The program on trial, if it is one, has proved itself.
    pub fn confirm(&self) -> Result<(), UpdateError> {
        if !self.beside(".trial").exists() {
            return Ok(());
        }
        for path in [self.beside(".trial"), self.beside(".old")] {
            unless_gone(fs::remove_file(&path)).map_err(failed("remove", &path))?;
        }
        Ok(())
    }

    /// Puts the old program back if the one on trial has had its time and did not prove itself. Whether that was so.
    pub fn end_trial(&self) -> Result<bool, UpdateError> {
        let is_on_trial = self.beside(".trial").exists();
        if is_on_trial {
            self.roll_back()?;
        }
        Ok(is_on_trial)
    }

    /// Puts the old program back, and remembers which one it was that did not come up. A crash may have come between the
    /// steps of an earlier try, so what is done already is not missed.
    fn roll_back(&self) -> Result<(), UpdateError> {
        let (old, trial) = (self.beside(".old"), self.beside(".trial"));
        if old.exists() {
            let rejected = checksum_of(&self.path).map_err(failed("read", &self.path))?;
            write_durably(&self.beside(REJECTED), &rejected)?;
        }
        unless_gone(fs::rename(&old, &self.path)).map_err(failed("put back", &self.path))?;
        unless_gone(fs::remove_file(&trial)).map_err(failed("remove", &trial))?;
        sync_directory_of(&self.path)
    }

    /// Whether the program of this checksum did not come up here lately. It may have been the server that was away, so it
    /// gets another chance some day.
    pub(super) fn has_rejected(&self, checksum: &str) -> bool {
        let path = self.beside(REJECTED);
        let is_fresh = fs::metadata(&path)
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|since| since.elapsed().is_ok_and(|age| age < REJECTED_FOR));
        let rejected = fs::read_to_string(&path).unwrap_or_default();
        is_fresh && rejected.trim().eq_ignore_ascii_case(checksum.trim())
    }
}

/// Done by us or by whoever came before.
fn unless_gone(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

fn checksum_of(path: &Path) -> io::Result<String> {
    let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
    let mut hasher = Sha256::new();
    loop {
        let bytes = file.fill_buf()?;
        if bytes.is_empty() {
            return Ok(hexadecimal(&hasher.finalize()));
        }
        hasher.update(bytes);
        let length = bytes.len();
        file.consume(length);
    }
}

fn write_durably(path: &Path, text: &str) -> Result<(), UpdateError> {
    use std::io::Write as _;
    let mut file = File::create(path).map_err(failed("write", path))?;
    file.write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .map_err(failed("write", path))
}

fn sync_directory_of(path: &Path) -> Result<(), UpdateError> {
    let directory = path.parent().unwrap_or_else(|| Path::new("/"));
    File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(failed("settle", directory))
}
