//! The runner's own disk: results until they are acknowledged, and which job is held.
//!
//! ```text
//! <data>/lock             held while an agent runs here
//! <data>/held             the job that is set up or executed, until its result is spooled
//! <data>/spool/<job>      its checksum and its terminal message, until that is acknowledged
//! <data>/spool/<job>.bad  what did not read back as written; kept for a person to look at
//! <data>/spool/<job>.large  output that goes beside the message; there before the message, and gone after it
//! <data>/slots/<number>/  the same again for each slot of the runner but the first
//! ```
//!
//! Every file appears whole or not at all: written beside, synced, renamed, and the directory synced. A result
//! is on disk before the held record goes, so that after a kill at any moment there is one, the other or both,
//! never neither.

mod record;

use std::fs::{self, DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use kiln_model::JobUuid;

use crate::delivery::Attachment;
use crate::{AgentError, Delivery, MAX_MESSAGE_BYTES};

const TEMPORARY: &str = ".tmp-";
const BAD: &str = "bad";
const LARGE: &str = "large";

/// A message and its checksum; a longer file is not one of ours.
const MAX_RECORD_BYTES: u64 = MAX_MESSAGE_BYTES as u64 + 256;

#[derive(Debug)]
pub(crate) struct Spool {
    data: PathBuf,
    results: PathBuf,
    /// Released by its drop.
    _lock: File,
}

impl Spool {
    /// Takes a data directory into use, making it if needed.
    pub(crate) fn open(data: &Path) -> Result<Self, AgentError> {
        let results = data.join("spool");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&results)
            .map_err(failed("make", &results))?;
        let path = data.join("lock");
        let lock = File::create(&path).map_err(failed("open", &path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(AgentError::InUse {
                    path: data.to_owned(),
                });
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
        }
        Ok(Self {
            data: data.to_owned(),
            results,
            _lock: lock,
        })
    }

    /// The directories in a directory that may not be there.
    pub(crate) fn directories(below: &Path) -> Result<Vec<PathBuf>, AgentError> {
        let entries = match fs::read_dir(below) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("read", below)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed("read", below))?.path();
            if path.is_dir() {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// What an earlier process has left, oldest job first. A job it held without a result is reported as failed.
    pub(crate) fn recover(&self) -> Result<Vec<Delivery>, AgentError> {
        self.report_held()?;
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.results).map_err(failed("read", &self.results))? {
            let entry = entry.map_err(failed("read", &self.results))?;
            names.push(entry.file_name());
        }
        // Job ids sort by time.
        names.sort_unstable();
        let mut deliveries = Vec::new();
        for name in names {
            let path = self.results.join(&name);
            let name = name.to_string_lossy();
            if name.starts_with(TEMPORARY) {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            } else if let Ok(job) = name.parse() {
                let read = read_or_set_aside(&path, job)?;
                deliveries.extend(read.map(|delivery| self.with_what_is_here(delivery)));
            } else if path.extension().is_some_and(|it| it == LARGE)
                && !path.with_extension("").exists()
            {
                fs::remove_file(&path).map_err(failed("remove", &path))?;
            }
        }
        Ok(deliveries)
    }

    /// Remembers that a job is held.
    pub(crate) fn hold(&self, job: JobUuid) -> io::Result<()> {
        write_whole(&self.held_path(), job.to_string().as_bytes())
    }

    /// Keeps a result until it is forgotten. Its job is then no longer held.
    pub(crate) fn write(&self, delivery: &Delivery) -> io::Result<()> {
        if let Some(bytes) = delivery.large().and_then(Attachment::bytes) {
            write_whole(&self.large_path(delivery.job()), bytes)?;
        }
        write_whole(&self.result_path(delivery.job()), &record::encode(delivery))?;
        remove(&self.held_path())
    }

    /// Removes a result. One that is not there is removed already.
    pub(crate) fn forget(&self, job: JobUuid) -> io::Result<()> {
        remove(&self.result_path(job))?;
        remove(&self.large_path(job))
    }

    /// Where the output lies that goes beside the message about a job.
    pub(crate) fn large_path(&self, job: JobUuid) -> PathBuf {
        self.result_path(job).with_extension(LARGE)
    }

    /// Without what should go beside it, if that is not here or not all of it. Its digest is the server's to check.
    fn with_what_is_here(&self, delivery: Delivery) -> Delivery {
        let Some(large) = delivery.large() else {
            return delivery;
        };
        let found = fs::metadata(self.large_path(delivery.job()));
        if found.is_ok_and(|found| found.len() == large.size) {
            return delivery;
        }
        let job = delivery.job();
        tracing::error!(job.id = %job, "the spooled output of job {job} is damaged; the beginning of it is sent");
        delivery.without_large()
    }

    fn report_held(&self) -> Result<(), AgentError> {
        let path = self.held_path();
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed("read", &path)(error)),
        };
        let Ok(job) = text.parse() else {
            tracing::error!(path = %path.display(), "the record of the held job is damaged and is dropped");
            return remove(&path).map_err(failed("remove", &path));
        };
        if self.result_path(job).exists() {
            return remove(&path).map_err(failed("remove", &path));
        }
        tracing::warn!(job.id = %job, "job {job} was held when the runner ended; it is reported as failed");
        let delivery = Delivery::failed(
            job,
            Vec::new(),
            "the runner was restarted while it held this job; submit it again",
            None,
        );
        self.write(&delivery)
            .map_err(failed("write in", &self.results))
    }

    fn held_path(&self) -> PathBuf {
        self.data.join("held")
    }

    fn result_path(&self, job: JobUuid) -> PathBuf {
        self.results.join(job.to_string())
    }
}

fn read_or_set_aside(path: &Path, job: JobUuid) -> Result<Option<Delivery>, AgentError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_RECORD_BYTES).read_to_end(&mut bytes))
        .map_err(failed("read", path))?;
    match record::decode(bytes, job) {
        Ok(delivery) => Ok(Some(delivery)),
        Err(error) => {
            let aside = path.with_extension(BAD);
            fs::rename(path, &aside).map_err(failed("rename", path))?;
            tracing::error!(
                job.id = %job,
                error = &error as &dyn std::error::Error,
                "the spooled result of job {job} is damaged and is not sent; it is kept as {}",
                aside.display()
            );
            Ok(None)
        }
    }
}

fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(TEMPORARY)
        .tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    sync_directory(directory)
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn failed<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> AgentError + 'a {
    move |source| AgentError::DataDir {
        action,
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
