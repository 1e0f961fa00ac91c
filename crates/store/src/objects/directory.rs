//! Objects as files: written beside, synced, renamed into place, and the directory synced.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use bytes::{Bytes, BytesMut};
use kiln_model::Millis;
use tokio::task::JoinHandle;

use super::block::CHECKSUM_SUFFIX;
use super::failure::{io_error, object_error};
use super::key::STAGING;
use super::upload::FileUpload;
use crate::{Error, ObjectErrorKind};

#[derive(Debug)]
pub(super) struct Directory {
    root: Arc<Path>,
}

impl Directory {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        make_directories(&path.join(STAGING)).map_err(|error| {
            Error::Refused(format!("the object directory {} cannot be used: {error}; give another, or make it writable", path.display()))
        })?;
        Ok(Self { root: path.into() })
    }

    /// Begins a file that nobody sees yet.
    pub(super) async fn begin(&self, staging: String) -> Result<FileUpload, Error> {
        let path = self.root.join(&staging);
        let root = Arc::clone(&self.root);
        blocking(staging, move || {
            let file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&path)?;
            Ok(FileUpload::new(root, path, file))
        })
        .await
    }

    /// Writes an object whose bytes are all there, on one thread at one go.
    pub(super) async fn put(&self, staging: String, bytes: Bytes, name: &str) -> Result<(), Error> {
        let (from, to) = (self.root.join(staging), self.root.join(name));
        blocking(name.to_owned(), move || {
            let written = write_new(&from, &bytes).and_then(|file| publish(&file, &from, &to));
            if written.is_err() {
                // What cannot be removed now is swept later.
                drop(fs::remove_file(&from));
            }
            written
        })
        .await
    }

    pub(super) async fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        let path = self.root.join(name);
        blocking(name.to_owned(), move || match fs::metadata(path) {
            Ok(found) if found.is_file() => Ok(Some(found.len())),
            Ok(_) => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    pub(super) async fn read_at(
        &self,
        name: &str,
        start: u64,
        length: u64,
    ) -> Result<Bytes, Error> {
        let path = self.root.join(name);
        let Ok(length) = usize::try_from(length) else {
            return Err(object_error(
                ObjectErrorKind::Other,
                name,
                "a read longer than memory",
            ));
        };
        blocking(name.to_owned(), move || {
            let mut bytes = vec![0; length];
            File::open(path)?.read_exact_at(&mut bytes, start)?;
            Ok(bytes.into())
        })
        .await
    }

    /// Reads some bytes on a thread of its own, into `memory` if that is large enough, and checks them there.
    pub(super) fn start_read(
        &self,
        name: &str,
        range: Range<u64>,
        mut memory: BytesMut,
        check: impl FnOnce(&[u8]) -> Result<(), Error> + Send + 'static,
    ) -> JoinHandle<Result<Bytes, Error>> {
        let (name, path) = (name.to_owned(), self.root.join(name));
        tokio::task::spawn_blocking(move || {
            let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
            if memory.len() < length {
                memory = BytesMut::zeroed(length);
            }
            memory.truncate(length);
            File::open(path)
                .and_then(|file| file.read_exact_at(&mut memory, range.start))
                .map_err(|error| io_error(&name, &error))?;
            check(&memory)?;
            Ok(memory.freeze())
        })
    }

    pub(super) async fn delete(&self, name: &str) -> Result<bool, Error> {
        let path = self.root.join(name);
        blocking(name.to_owned(), move || match fs::remove_file(&path) {
            Ok(()) => {
                // The directory of an object's checksums goes with the last of them.
                if let Some(parent) = path.parent().filter(|parent| is_checksum_directory(parent)) {
                    drop(fs::remove_dir(parent));
                }
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        })
        .await
    }

    pub(super) async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, Error> {
        let (root, prefix, after) = (
            Arc::clone(&self.root),
            prefix.trim_matches('/').to_owned(),
            after.map(str::to_owned),
        );
        blocking(prefix.clone(), move || {
            let mut found = Vec::new();
            walk(&root, &prefix, after.as_deref(), limit, &mut found)?;
            Ok(found)
        })
        .await
    }

    pub(super) async fn sweep(&self, before: Millis) -> Result<usize, Error> {
        let staging = self.root.join(STAGING);
        blocking(STAGING.into(), move || {
            let mut swept = 0;
            for entry in fs::read_dir(staging)? {
                let entry = entry?;
                let modified = entry.metadata()?.modified()?;
                if Millis::ZERO + modified.duration_since(UNIX_EPOCH).unwrap_or_default() < before {
                    fs::remove_file(entry.path())?;
                    swept += 1;
                }
            }
            Ok(swept)
        })
        .await
    }
}

/// Makes a file durable, and visible under its name.
pub(super) fn publish(file: &File, from: &Path, to: &Path) -> io::Result<()> {
    file.sync_all()?;
    let parent = to.parent().unwrap_or(to);
    make_directories(parent)?;
    fs::rename(from, to)?;
    File::open(parent)?.sync_all()
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    Ok(file)
}

/// Makes a directory and those above it, durably: a file in a directory that is gone after a crash is gone too.
pub(super) fn make_directories(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or_else(|| Path::new("."));
    make_directories(parent)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => File::open(parent)?.sync_all(),
    }
}

/// Depth first, each directory in the order of its names; what sorts up to `after` is passed over.
fn walk(
    root: &Path,
    below: &str,
    after: Option<&str>,
    limit: usize,
    found: &mut Vec<(String, u64)>,
) -> io::Result<()> {
    let entries = match fs::read_dir(root.join(below)) {
        Ok(entries) => entries,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let mut names = entries
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        let Some(name) = name.to_str() else { continue };
        let key = if below.is_empty() {
            name.to_owned()
        } else {
            format!("{below}/{name}")
        };
        if found.len() >= limit || key == STAGING {
            continue;
        }
        let metadata = match fs::metadata(root.join(&key)) {
            Ok(metadata) => metadata,
            // Deleted since we looked.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if metadata.is_dir() {
            let depth = segments(&key).count();
            if after.is_none_or(|after| segments(&key).ge(segments(after).take(depth))) {
                walk(root, &key, after, limit, found)?;
            }
        } else if after.is_none_or(|after| segments(&key).gt(segments(after))) {
            found.push((key, metadata.len()));
        }
    }
    Ok(())
}

fn is_checksum_directory(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.ends_with(CHECKSUM_SUFFIX))
}

fn segments(name: &str) -> impl Iterator<Item = &str> {
    name.split('/')
}

pub(super) async fn blocking<T: Send + 'static>(
    name: String,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    let done = done.map_err(|error| object_error(ObjectErrorKind::Other, &name, error))?;
    done.map_err(|error| io_error(&name, &error))
}
