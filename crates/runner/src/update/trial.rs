//! Putting a new program in place, and taking it back if it does not come up.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{Candidate, Program, UpdateError, failed};

/// How often a new program may start without ever reaching its server.
const MAX_STARTS: u32 = 3;

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
        match fs::remove_file(&old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &old)(error));
            }
            Ok(()) | Err(_) => {}
        }
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
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed("remove", &path)(error));
                }
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// Puts the old program back.
    pub fn roll_back(&self) -> Result<(), UpdateError> {
        let (old, trial) = (self.beside(".old"), self.beside(".trial"));
        fs::rename(&old, &self.path).map_err(failed("put back", &self.path))?;
        fs::remove_file(&trial).map_err(failed("remove", &trial))?;
        sync_directory_of(&self.path)
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
