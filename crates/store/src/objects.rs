//! Bytes too large for the database: image blobs and outputs, in a directory or in S3.
//!
//! An object is visible whole or not at all, durable before its writer is told so, and checked on the way in and on the
//! way out: against the digest of the whole, and before any byte is handed out against the checksum of its block, which
//! lies beside every object longer than one block.

mod block;
mod checks;
mod directory;
mod failure;
mod hashing;
mod key;
mod place;
mod reader;
mod remote;
mod upload;
mod writer;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use bytes::Bytes;
use kiln_model::{Digest, Entropy, Millis};

use crate::{Error, ObjectErrorKind};
use block::Blocks;
use directory::Directory;
use failure::object_error;
use place::Place;
use reader::Extent;
use remote::Remote;

pub use key::{NotAKey, ObjectKey};
pub use reader::ObjectReader;
pub use writer::{ObjectWriter, Stored};

/// A store of objects. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Objects {
    backend: Arc<Backend>,
    entropy: Arc<dyn Entropy>,
}

#[derive(Debug)]
enum Backend {
    Directory(Directory),
    Remote(Remote),
}

/// One object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub key: ObjectKey,
    pub size: u64,
}

impl Objects {
    /// Opens a path, `file://PATH`, `s3://BUCKET/PREFIX?endpoint=URL&path_style=true` or `memory:`. Keys and region of S3
    /// come from the usual `AWS_…` variables, or from the query. Blocks a little: a directory is made if need be.
    pub fn open(location: &str, entropy: Arc<dyn Entropy>) -> Result<Self, Error> {
        let backend = match Place::parse(location)? {
            Place::Directory(path) => Backend::Directory(Directory::open(&path)?),
            Place::Memory => Backend::Remote(Remote::memory()),
            Place::S3(address) => Backend::Remote(Remote::s3(&address)?),
        };
        Ok(Self {
            backend: Arc::new(backend),
            entropy,
        })
    }

    /// Begins a blob, stored under its digest. With `expected` it is refused unless its bytes hash to that.
    pub fn put_blob(&self, expected: Option<Digest>) -> ObjectWriter {
        ObjectWriter::new(self.clone(), None, expected)
    }

    /// Begins an object with a name of its own, replacing what has that name. The caller keeps its digest.
    pub fn put_named(&self, key: ObjectKey, expected: Option<Digest>) -> ObjectWriter {
        ObjectWriter::new(self.clone(), Some(key), expected)
    }

    /// Reads a whole blob.
    pub async fn read_blob(&self, digest: &Digest) -> Result<ObjectReader, Error> {
        self.read_named(&ObjectKey::blob(digest), digest).await
    }

    /// Reads a whole object whose digest the caller kept.
    pub async fn read_named(
        &self,
        key: &ObjectKey,
        digest: &Digest,
    ) -> Result<ObjectReader, Error> {
        ObjectReader::open(self, key, digest, Extent::Whole).await
    }

    /// Reads the bytes from `start` to `end`, exclusive; an end past the object is the object's end. Every block is checked,
    /// and the whole is not hashed again, even if it is read.
    pub async fn read_range(
        &self,
        key: &ObjectKey,
        digest: &Digest,
        start: u64,
        end: u64,
    ) -> Result<ObjectReader, Error> {
        ObjectReader::open(self, key, digest, Extent::Part(start..end)).await
    }

    /// A whole blob in memory, if it is no longer than `limit`.
    pub async fn get_verified(&self, digest: &Digest, limit: u64) -> Result<Bytes, Error> {
        self.read_blob(digest).await?.collect(limit).await
    }

    /// Reads an object whole and checks it; the error names it when it is not what it should be.
    pub async fn verify(&self, key: &ObjectKey, digest: &Digest) -> Result<(), Error> {
        let mut reader = self.read_named(key, digest).await?;
        while reader.next().await?.is_some() {}
        Ok(())
    }

    /// The size of an object, or none if there is none.
    pub async fn size(&self, key: &ObjectKey) -> Result<Option<u64>, Error> {
        self.backend.size(key.as_str()).await
    }

    pub async fn exists(&self, key: &ObjectKey) -> Result<bool, Error> {
        Ok(self.size(key).await?.is_some())
    }

    /// Removes an object with its checksums; tells whether there was one.
    pub async fn delete(&self, key: &ObjectKey) -> Result<bool, Error> {
        let was_there = self.backend.delete(key.as_str()).await?;
        let checksums = block::checksum_directory(key);
        for (name, _) in self.backend.list(&checksums, None, usize::MAX).await? {
            self.backend.delete(&name).await?;
        }
        Ok(was_there)
    }

    /// Up to `limit` objects below a prefix of whole path segments, in a fixed order, from after `after`.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&ObjectKey>,
        limit: usize,
    ) -> Result<Vec<Entry>, Error> {
        let mut entries = Vec::new();
        let mut cursor = after.map(|key| key.as_str().to_owned());
        while entries.len() < limit {
            let want = limit - entries.len();
            let page = self.backend.list(prefix, cursor.as_deref(), want).await?;
            let Some((last, _)) = page.last() else { break };
            cursor = Some(last.clone());
            // Checksums and unfinished uploads are not objects.
            entries.extend(page.into_iter().filter_map(|(name, size)| {
                Some(Entry {
                    key: ObjectKey::parse(&name).ok()?,
                    size,
                })
            }));
        }
        Ok(entries)
    }

    /// Removes what uploads left behind that began before `before` (wall clock) and never ended: a crash in the
    /// middle of one. Answers how many there were.
    pub async fn sweep(&self, before: Millis) -> Result<usize, Error> {
        match self.backend.as_ref() {
            Backend::Directory(directory) => directory.sweep(before).await,
            Backend::Remote(remote) => remote.sweep(before).await,
        }
    }

    /// A name that nothing else has, for an object under construction.
    fn staging_name(&self) -> String {
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        format!("{}/{:032x}", key::STAGING, u128::from_be_bytes(random))
    }

    /// The block checksums of an object longer than one block.
    async fn blocks(&self, key: &ObjectKey, digest: &Digest) -> Result<Blocks, Error> {
        let name = block::checksum_name(key, digest);
        let missing = || {
            object_error(
                ObjectErrorKind::Corrupt,
                key.as_str(),
                "its block checksums are missing",
            )
        };
        let size = self.backend.size(&name).await?.ok_or_else(missing)?;
        let bytes = self.backend.read_at(&name, 0, size).await?;
        Blocks::decode(&bytes).ok_or_else(|| {
            object_error(
                ObjectErrorKind::Corrupt,
                key.as_str(),
                "its block checksums are damaged",
            )
        })
    }
}

impl Backend {
    async fn size(&self, name: &str) -> Result<Option<u64>, Error> {
        match self {
            Self::Directory(directory) => directory.size(name).await,
            Self::Remote(remote) => remote.size(name).await,
        }
    }

    async fn read_at(&self, name: &str, start: u64, length: u64) -> Result<Bytes, Error> {
        match self {
            Self::Directory(directory) => directory.read_at(name, start, length).await,
            Self::Remote(remote) => remote.read_at(name, start, length).await,
        }
    }

    async fn delete(&self, name: &str) -> Result<bool, Error> {
        match self {
            Self::Directory(directory) => directory.delete(name).await,
            Self::Remote(remote) => remote.delete(name).await,
        }
    }

    /// Names and sizes, checksums and unfinished uploads included.
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, u64)>, Error> {
        match self {
            Self::Directory(directory) => directory.list(prefix, after, limit).await,
            Self::Remote(remote) => remote.list(prefix, after, limit).await,
        }
    }
}
