//! Writing an object: a stream in, one durable object out, or nothing.

use bytes::{Bytes, BytesMut};
use kiln_model::{Algorithm, Digest};
use sha2::Sha256;

use super::block::{BLOCK, WholeHasher, checksum_name};
use super::failure::object_error;
use super::hashing::Hashing;
use super::key::{self, ObjectKey};
use super::remote::PartUpload;
use super::upload::FileUpload;
use super::{Backend, Objects};
use crate::{Error, ObjectErrorKind};

/// S3 wants parts of five mebibytes or more, all of one size, and ten thousand of them at most.
const REMOTE_PART: usize = 16 << 20;
const FILE_PART: usize = 1 << 20;

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    pub key: ObjectKey,
    pub digest: Digest,
    pub size: u64,
}

/// An object under construction. Nothing is visible before [`finish`](Self::finish), and nothing stays of one that is dropped.
#[derive(Debug)]
pub struct ObjectWriter {
    objects: Objects,
    key: Option<ObjectKey>,
    expected: Option<Digest>,
    whole: WholeHasher,
    /// Behind by what is in `buffer`.
    blocks: Hashing,
    size: u64,
    buffer: BytesMut,
    upload: Option<Upload>,
}

#[derive(Debug)]
enum Upload {
    File(FileUpload),
    Parts(PartUpload),
}

impl ObjectWriter {
    pub(super) fn new(objects: Objects, key: Option<ObjectKey>, expected: Option<Digest>) -> Self {
        let algorithm = expected
            .as_ref()
            .map_or(Algorithm::Sha256, Digest::algorithm);
        Self {
            objects,
            // With an expected digest the name of a blob is known from the start.
            key: key.or_else(|| expected.as_ref().map(ObjectKey::blob)),
            expected,
            whole: WholeHasher::new(algorithm),
            blocks: Hashing::new(),
            size: 0,
            buffer: BytesMut::new(),
            upload: None,
        }
    }

    /// How many bytes were written so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hash of what was written so far, where that is by SHA-256: whoever needs the hash of the same bytes has it here.
    pub const fn sha256(&self) -> Option<&Sha256> {
        match &self.whole {
            WholeHasher::Sha256(hasher) => Some(hasher),
            WholeHasher::Sha512(_) => None,
        }
    }

    pub async fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.whole.update(bytes);
        self.size += bytes.len() as u64;
        let part = self.part_size();
        let mut rest = bytes;
        while !rest.is_empty() {
            let (head, tail) = rest.split_at(rest.len().min(part - self.buffer.len()));
            self.buffer.extend_from_slice(head);
            if self.buffer.len() == part {
                self.flush().await?;
            }
            rest = tail;
        }
        Ok(())
    }

    /// Makes the object durable and visible. Bytes that do not hash to what was expected are refused.
    pub async fn finish(mut self) -> Result<Stored, Error> {
        let last = self.buffer.split().freeze();
        let Self {
            objects,
            key,
            expected,
            whole,
            blocks,
            size,
            upload,
            ..
        } = self;
        let digest = whole.finish();
        if let Some(expected) = expected
            && expected != digest
        {
            let what = format!("the bytes hash to {digest}");
            return Err(object_error(
                ObjectErrorKind::Corrupt,
                expected.as_str(),
                what,
            ));
        }
        let key = key.unwrap_or_else(|| ObjectKey::blob(&digest));
        if size > BLOCK as u64 {
            // First the checksums: an object that is visible can be checked.
            let blocks = blocks.finish(&last).await;
            let blocks = blocks
                .map_err(|error| object_error(ObjectErrorKind::Other, key.as_str(), error))?;
            let checksums = Bytes::from(blocks.encode());
            put(&objects, None, checksums, &checksum_name(&key, &digest), 0).await?;
        }
        put(&objects, upload, last, key.as_str(), size).await?;
        Ok(Stored { key, digest, size })
    }

    fn part_size(&self) -> usize {
        match self.objects.backend.as_ref() {
            Backend::Directory(_) => FILE_PART,
            Backend::Remote(_) => REMOTE_PART,
        }
    }

    async fn flush(&mut self) -> Result<(), Error> {
        let part = self.buffer.split().freeze();
        if self.upload.is_none() {
            let staging = self.objects.staging_name();
            self.upload = Some(match self.objects.backend.as_ref() {
                Backend::Directory(directory) => Upload::File(directory.begin(staging).await?),
                // A multipart upload is invisible until it is completed, so one with a known name needs no other.
                Backend::Remote(remote) => {
                    let name = self.key.as_ref().map_or(staging, ToString::to_string);
                    Upload::Parts(remote.begin(name).await?)
                }
            });
        }
        let hashing = self.blocks.update(part.clone()).await;
        hashing.map_err(|error| object_error(ObjectErrorKind::Other, key::STAGING, error))?;
        match self.upload.as_mut() {
            Some(Upload::File(file)) => file.write(part).await,
            Some(Upload::Parts(parts)) => parts.write(part).await,
            None => Ok(()),
        }
    }
}

/// Writes what is left and publishes it all under `name`.
async fn put(
    objects: &Objects,
    upload: Option<Upload>,
    last: Bytes,
    name: &str,
    size: u64,
) -> Result<(), Error> {
    match (objects.backend.as_ref(), upload) {
        (Backend::Directory(_), Some(Upload::File(mut file))) => {
            if !last.is_empty() {
                file.write(last).await?;
            }
            file.publish(name).await
        }
        (Backend::Directory(directory), _) => {
            directory.put(objects.staging_name(), last, name).await
        }
        (Backend::Remote(remote), Some(Upload::Parts(mut parts))) => {
            if !last.is_empty() {
                parts.write(last).await?;
            }
            let written = parts.name().to_owned();
            parts.complete().await?;
            if written == name {
                Ok(())
            } else {
                remote.rename(&written, name, size).await
            }
        }
        (Backend::Remote(remote), _) => remote.put(name, last).await,
    }
}
