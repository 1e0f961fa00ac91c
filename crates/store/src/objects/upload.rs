//! A file under construction. A part is written while the next one arrives, and the disk is busy with what was written
//! before, so that little is left to wait for when the file is published.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use tokio::task::JoinHandle;

use super::directory::{blocking, publish};
use super::failure::{io_error, object_error};
use crate::{Error, ObjectErrorKind};

/// After so many bytes the disk is asked to begin: enough that it is seldom asked, little beside what is uploaded in a second.
const SYNC_EVERY: usize = 16 << 20;

/// Dropped before it is published, it is removed.
#[derive(Debug)]
pub(super) struct FileUpload {
    root: Arc<Path>,
    path: PathBuf,
    file: State,
    /// What was written and not yet asked to be on the disk.
    unsynced: usize,
    syncing: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug)]
enum State {
    Idle(File),
    Writing(JoinHandle<io::Result<File>>),
    Failed,
}

impl FileUpload {
    pub(super) fn new(root: Arc<Path>, path: PathBuf, file: File) -> Self {
        Self {
            root,
            path,
            file: State::Idle(file),
            unsynced: 0,
            syncing: None,
        }
    }

    /// Begins to write these bytes, once those before them are written. An error may be that of an earlier part.
    pub(super) async fn write(&mut self, bytes: Bytes) -> Result<(), Error> {
        let mut file = self.written().await?;
        if self.unsynced >= SYNC_EVERY {
            self.synced().await?;
            let behind = file.try_clone();
            let behind = behind.map_err(|error| io_error(&self.name(), &error))?;
            self.syncing = Some(tokio::task::spawn_blocking(move || behind.sync_data()));
            self.unsynced = 0;
        }
        self.unsynced += bytes.len();
        self.file = State::Writing(tokio::task::spawn_blocking(move || {
            file.write_all(&bytes)?;
            Ok(file)
        }));
        Ok(())
    }

    /// Makes the file durable, and visible under `name`.
    pub(super) async fn publish(mut self, name: &str) -> Result<(), Error> {
        let file = self.written().await?;
        // What it could not write it tells whoever asks first, and nobody after.
        self.synced().await?;
        let (from, to) = (self.path.clone(), self.root.join(name));
        blocking(name.to_owned(), move || publish(&file, &from, &to)).await?;
        self.path = PathBuf::new();
        Ok(())
    }

    /// The file, once nobody writes to it.
    async fn written(&mut self) -> Result<File, Error> {
        if let State::Writing(writing) = &mut self.file {
            let done = writing.await;
            self.file = State::Failed;
            self.file = State::Idle(self.outcome(done)?);
        }
        match std::mem::replace(&mut self.file, State::Failed) {
            State::Idle(file) => Ok(file),
            State::Writing(_) | State::Failed => Err(object_error(
                ObjectErrorKind::Io,
                &self.name(),
                "an earlier write failed",
            )),
        }
    }

    /// Waits until the disk has what it was asked for.
    async fn synced(&mut self) -> Result<(), Error> {
        let Some(syncing) = &mut self.syncing else {
            return Ok(());
        };
        let done = syncing.await;
        self.syncing = None;
        self.outcome(done)
    }

    fn outcome<T>(&self, done: Result<io::Result<T>, tokio::task::JoinError>) -> Result<T, Error> {
        let done =
            done.map_err(|error| object_error(ObjectErrorKind::Other, &self.name(), error))?;
        done.map_err(|error| io_error(&self.name(), &error))
    }

    fn name(&self) -> String {
        self.path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }
}

impl Drop for FileUpload {
    fn drop(&mut self) {
        // What cannot be removed now is swept later.
        if !self.path.as_os_str().is_empty() {
            drop(fs::remove_file(&self.path));
        }
    }
}
