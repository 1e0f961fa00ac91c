//! Uploads: from the first byte to a blob.
//!
//! ```text
//! start ─▶ append* ─▶ finish ─▶ blob
//!             └──────▶ cancel
//! ```
//!
//! Each chunk becomes an object of its own, and then a row that says so; a blob is the list of them. Nothing is copied
//! when an upload ends, nothing but rows and whole objects is needed to go on after a restart, and an object no row
//! speaks of is rubbish.

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use kiln_model::{Algorithm, Digest, Entropy};
use kiln_store::Tx;
use kiln_store::sql::registry::piece::Piece;
use kiln_store::sql::registry::upload::{self, Upload};
use kiln_store::sql::registry::{blob, repository};

use crate::running_hash::RunningHash;
use crate::{MAX_BLOB_BYTES, Refusal, Registry, Repository, UploadId, quota};

/// An upload under way, in the one repository it belongs to.
#[derive(Clone, Debug)]
pub struct Session {
    pub repository: Repository,
    pub upload: UploadId,
}

/// Some bytes of an upload, and what the sender says of them.
#[derive(Debug)]
pub struct Chunk<S> {
    /// Where they start; where the upload ends, if the sender does not say.
    pub start: Option<u64>,
    pub length: Option<u64>,
    /// What the upload is closed with, if that is known already. Otherwise what it was started with is believed.
    pub algorithm: Option<Algorithm>,
    pub body: S,
}

impl Registry {
    /// Starts an upload. Its bytes are hashed while they arrive, by the algorithm it will probably be closed with; if it is
    /// another one in the end, they are read again.
    pub async fn start_upload(
        &self,
        repository: &Repository,
        algorithm: Algorithm,
        entropy: &dyn Entropy,
    ) -> Result<UploadId, Refusal> {
        let upload = UploadId::mint(entropy);
        let (at, name) = (repository.clone(), upload.to_string());
        let started = self.store.ledger.submit(move |tx| {
            let repository = repository::find_or_insert(tx, at.project, &at.path)?;
            upload::insert(tx, &name, repository, &RunningHash::new(algorithm).save())
        });
        let started: Result<(), kiln_store::Error> = started.await;
        started?;
        Ok(upload)
    }

    /// How many bytes of the upload are safe.
    pub async fn upload_size(&self, session: &Session) -> Result<u64, Refusal> {
        Ok(self.upload(session).await?.size)
    }

    /// Adds bytes to the end of an upload, all of them or none; answers its new size.
    pub async fn append<S, E>(
        &self,
        session: &Session,
        chunk: Chunk<S>,
        entropy: &dyn Entropy,
    ) -> Result<u64, Refusal>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + Unpin,
        E: std::fmt::Display,
    {
        let upload = self.upload(session).await?;
        if chunk.start.is_some_and(|start| start != upload.size) {
            return Err(Refusal::OutOfOrder { size: upload.size });
        }
        let key = format!("registry/{}/{}", session.upload, UploadId::mint(entropy));
        let mut hash = self.hash(&upload, chunk.algorithm).await?;
        let quota = self.quota_room(session.repository.project).await?;
        let room = MAX_BLOB_BYTES.min(quota).saturating_sub(upload.size);
        let piece = self
            .pieces
            .put(&key, upload.size, chunk.body, &mut hash, room)
            .await
            .map_err(|refusal| {
                if quota < MAX_BLOB_BYTES && matches!(refusal, Refusal::BlobTooLarge) {
                    Refusal::QuotaExceeded
                } else {
                    refusal
                }
            })?;
        let arrived = piece.as_ref().map_or(0, |piece| piece.size);
        if let Some(announced) = chunk.length.filter(|announced| *announced != arrived) {
            self.pieces.delete(piece.as_slice()).await;
            return Err(Refusal::WrongLength { announced, arrived });
        }
        match piece {
            Some(piece) => self.note(session, upload, piece, hash).await,
            None => Ok(upload.size),
        }
    }

    /// Makes the upload a blob of its project, if its bytes have the digest. If they have not, the upload is over.
    pub async fn finish_upload(&self, session: &Session, digest: &Digest) -> Result<(), Refusal> {
        let upload = self.upload(session).await?;
        let hash = self.hash(&upload, Some(digest.algorithm())).await?;
        let actual = hash.finish();
        if actual != *digest {
            self.cancel_upload(session).await?;
            return Err(Refusal::WrongDigest {
                expected: digest.clone(),
                actual,
            });
        }
        let (project, digest, id) = (session.repository.project, digest.clone(), upload.id);
        let size = upload.size;
        let kept = self
            .store
            .ledger
            .submit(move |tx| keep(tx, project, id, size, &digest));
        match kept.await? {
            Kept::New => Ok(()),
            Kept::Known(rubbish) => {
                self.pieces.delete(&rubbish).await;
                Ok(())
            }
            // Somebody added to it, or ended it, while it was being hashed.
            Kept::Changed => Err(Refusal::OutOfOrder {
                size: self.upload_size(session).await?,
            }),
        }
    }

    pub async fn cancel_upload(&self, session: &Session) -> Result<(), Refusal> {
        let upload = self.upload(session).await?.id;
        let removed = self.store.ledger.submit(move |tx| {
            let pieces = upload::pieces(tx, upload)?;
            Ok(upload::remove(tx, upload)?.then_some(pieces))
        });
        let removed: Result<_, kiln_store::Error> = removed.await;
        let pieces = removed?.ok_or(Refusal::UploadUnknown)?;
        self.pieces.delete(&pieces).await;
        Ok(())
    }

    async fn upload(&self, session: &Session) -> Result<Upload, Refusal> {
        let (at, name) = (session.repository.clone(), session.upload.to_string());
        let found = self.store.reader.read(move |query| {
            let Some(repository) = repository::find(query, at.project, &at.path)? else {
                return Ok(None);
            };
            upload::find(query, repository, &name)
        });
        let found: Result<_, kiln_store::Error> = found.await;
        found?.ok_or(Refusal::UploadUnknown)
    }

    /// Commits a piece whose object is durable. If the upload moved on meanwhile, the piece is rubbish.
    async fn note(
        &self,
        session: &Session,
        upload: Upload,
        piece: Piece,
        hash: RunningHash,
    ) -> Result<u64, Refusal> {
        let (noted, state) = (piece.clone(), hash.save());
        let appended = self
            .store
            .ledger
            .submit(move |tx| upload::append(tx, upload.id, &noted, &state));
        let appended: Result<bool, kiln_store::Error> = appended.await;
        match appended {
            Ok(true) => Ok(piece.start + piece.size),
            Ok(false) => {
                self.pieces.delete(&[piece]).await;
                Err(Refusal::OutOfOrder {
                    size: self.upload_size(session).await?,
                })
            }
            // Whether it was committed is not known for sure: an object too many does no harm, one too few would.
            Err(error) => Err(error.into()),
        }
    }

    /// The hash of what the upload has so far, by this algorithm or the one it was begun with.
    async fn hash(
        &self,
        upload: &Upload,
        algorithm: Option<Algorithm>,
    ) -> Result<RunningHash, Refusal> {
        match (RunningHash::resume(&upload.hash_state), algorithm) {
            (Some(hash), None) => Ok(hash),
            (Some(hash), Some(algorithm)) if hash.algorithm() == algorithm => Ok(hash),
            // Another version of this program put it down, or the sender closes it with another algorithm.
            (_, algorithm) => {
                self.hash_again(upload, algorithm.unwrap_or(Algorithm::Sha256))
                    .await
            }
        }
    }

    async fn hash_again(
        &self,
        upload: &Upload,
        algorithm: Algorithm,
    ) -> Result<RunningHash, Refusal> {
        let id = upload.id;
        let pieces: Result<_, kiln_store::Error> = self
            .store
            .reader
            .read(move |query| upload::pieces(query, id))
            .await;
        let mut hash = RunningHash::new(algorithm);
        let mut content = std::pin::pin!(self.pieces.read(pieces?, 0..upload.size));
        while let Some(bytes) = content.next().await {
            hash.update(&bytes?);
        }
        Ok(hash)
    }
}

enum Kept {
    New,
    /// The blob was there already; these pieces are not needed.
    Known(Vec<Piece>),
    Changed,
}

fn keep(
    tx: &mut dyn Tx,
    project: i64,
    upload: i64,
    size: u64,
    digest: &Digest,
) -> Result<Kept, Refusal> {
    tx.serialize_on(&blob_lock(digest))?;
    let pieces = upload::pieces(tx, upload)?;
    let whole: u64 = pieces.iter().map(|piece| piece.size).sum();
    if whole != size || !upload::remove(tx, upload)? {
        return Ok(Kept::Changed);
    }
    if let Some(known) = blob::find(tx, digest)? {
        quota::hold(tx, project, &known)?;
        return Ok(Kept::Known(pieces));
    }
    let blob = blob::insert(tx, digest, size, &pieces)?;
    quota::hold(tx, project, &blob)?;
    Ok(Kept::New)
}

/// Whoever decides that a blob is there, or is to go, holds this.
pub(crate) fn blob_lock(digest: &Digest) -> String {
    format!("registry blob {digest}")
}
