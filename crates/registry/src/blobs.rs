//! Blobs, as one project sees them.

use std::ops::Range;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use kiln_model::Digest;
use kiln_store::sql::registry::blob;
use kiln_store::sql::registry::piece::Piece;

use crate::uploads::blob_lock;
use crate::{Refusal, Registry, quota};

/// A blob that the project it was asked for holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub digest: Digest,
    pub size: u64,
    pieces: Vec<Piece>,
}

/// Whoever looks for a blob may be about to push a manifest that names it. That is written down so often at most: less
/// often than things are collected, and not on every look.
const TOUCH_EVERY: Duration = Duration::from_hours(1);

impl Registry {
    pub async fn blob(&self, project: i64, digest: &Digest) -> Result<Blob, Refusal> {
        let digest = digest.clone();
        let found = self.store.reader.read(move |query| {
            let Some(blob) = blob::find_held(query, project, &digest)? else {
                return Ok(None);
            };
            let touched = blob::touched(query, project, blob.id)?;
            let pieces = blob::pieces(query, blob.id)?;
            let found = Blob {
                digest: blob.digest,
                size: blob.size,
                pieces,
            };
            Ok(Some((found, blob.id, touched)))
        });
        let found: Result<_, kiln_store::Error> = found.await;
        let (blob, id, touched) = found?.ok_or(Refusal::BlobUnknown)?;
        if touched.is_some_and(|touched| touched + TOUCH_EVERY < self.store.ledger.now()) {
            let noted = self
                .store
                .ledger
                .submit(move |tx| blob::touch(tx, project, id));
            let noted: Result<(), kiln_store::Error> = noted.await;
            // A full disk can still be read.
            if let Err(error) = noted {
                tracing::warn!(%error, "that a blob was looked for is not written down");
            }
        }
        Ok(blob)
    }

    /// The bytes of a blob from `range.start` to before `range.end`, a block at a time.
    pub fn read_blob(
        &self,
        blob: &Blob,
        range: Range<u64>,
    ) -> impl Stream<Item = Result<Bytes, kiln_store::Error>> + Send + 'static {
        self.pieces.read(blob.pieces.clone(), range)
    }

    /// Gives `to` a blob that `from` holds. False when `from` does not, whoever else may.
    pub async fn mount_blob(&self, digest: &Digest, from: i64, to: i64) -> Result<bool, Refusal> {
        let digest = digest.clone();
        let mounted = self.store.ledger.submit(move |tx| {
            tx.serialize_on(&blob_lock(&digest))?;
            let Some(blob) = blob::find_held(tx, from, &digest)? else {
                return Ok(false);
            };
            quota::hold(tx, to, &blob)?;
            Ok(true)
        });
        mounted.await
    }

    /// Takes a blob from the project, and its bytes from the disk if nobody else holds it.
    pub async fn delete_blob(&self, project: i64, digest: &Digest) -> Result<(), Refusal> {
        let digest = digest.clone();
        let removed = self.store.ledger.submit(move |tx| {
            tx.serialize_on(&blob_lock(&digest))?;
            let blob = blob::find_held(tx, project, &digest)?.ok_or(Refusal::BlobUnknown)?;
            if let Some(by) = blob::named_by(tx, project, blob.id)? {
                return Err(Refusal::BlobNamed { by });
            }
            Ok(blob::release(tx, project, &blob)?)
        });
        self.pieces.delete(&removed.await?).await;
        Ok(())
    }
}
