//! The objects below uploads and blobs.

use std::ops::Range;

use bytes::Bytes;
use futures_util::stream::{self, Stream, StreamExt as _, TryStreamExt as _};
use kiln_model::Algorithm;
use kiln_store::sql::registry::piece::Piece;
use kiln_store::{Error as StoreError, ObjectKey, ObjectReader, Objects};

use crate::Refusal;
use crate::running_hash::RunningHash;

#[derive(Clone, Debug)]
pub(crate) struct Pieces {
    objects: Objects,
}

impl Pieces {
    pub(crate) const fn new(objects: Objects) -> Self {
        Self { objects }
    }

    /// Makes an object of at most `room` bytes out of `body`, which continues what `hash` has seen. It is durable when
    /// this answers; when this fails there is none.
    pub(crate) async fn put<S, E>(
        &self,
        key: &str,
        start: u64,
        mut body: S,
        hash: &mut RunningHash,
        room: u64,
    ) -> Result<Option<Piece>, Refusal>
    where
        S: Stream<Item = Result<Bytes, E>> + Send + Unpin,
        E: std::fmt::Display,
    {
        let mut writer = self.objects.put_named(object_key(key)?, None);
        // The object hashes its own bytes, and they are all there is so far.
        let is_first = start == 0 && hash.algorithm() == Algorithm::Sha256;
        while let Some(bytes) = body.next().await {
            let bytes = bytes.map_err(|error| Refusal::Interrupted(error.to_string()))?;
            if writer.size() + bytes.len() as u64 > room {
                return Err(Refusal::BlobTooLarge);
            }
            if !is_first {
                hash.update(&bytes);
            }
            writer.write(&bytes).await?;
        }
        if writer.size() == 0 {
            return Ok(None);
        }
        if is_first && let Some(own) = writer.sha256() {
            *hash = RunningHash::Sha256(own.clone());
        }
        let stored = writer.finish().await?;
        Ok(Some(Piece {
            start,
            size: stored.size,
            object_key: key.to_owned(),
            digest: stored.digest,
        }))
    }

    /// The bytes of the whole that `pieces` make up, from `range.start` to before `range.end`.
    pub(crate) fn read(
        &self,
        pieces: Vec<Piece>,
        range: Range<u64>,
    ) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static {
        let objects = self.objects.clone();
        let parts = pieces.into_iter().filter_map(move |piece| {
            let first = range.start.max(piece.start) - piece.start;
            let end = range
                .end
                .min(piece.start + piece.size)
                .saturating_sub(piece.start);
            (first < end).then_some((piece, first..end))
        });
        stream::iter(parts)
            .then(move |(piece, part)| {
                let objects = objects.clone();
                async move {
                    let key = object_key(&piece.object_key)?;
                    let reader = objects
                        .read_range(&key, &piece.digest, part.start, part.end)
                        .await?;
                    Ok::<_, StoreError>(blocks(reader))
                }
            })
            .try_flatten()
    }

    /// Removes objects that no row speaks of any more. What cannot be removed now is rubbish, and harms nobody.
    pub(crate) async fn delete(&self, pieces: &[Piece]) {
        for piece in pieces {
            let deleted = match object_key(&piece.object_key) {
                Ok(key) => self.objects.delete(&key).await.map(drop),
                Err(error) => Err(error),
            };
            if let Err(error) = deleted {
                tracing::warn!(object.key = piece.object_key, %error, "an object was left behind");
            }
        }
    }
}

fn blocks(reader: ObjectReader) -> impl Stream<Item = Result<Bytes, StoreError>> + Send + 'static {
    stream::try_unfold(reader, |mut reader| async move {
        Ok(reader.next().await?.map(|bytes| (bytes, reader)))
    })
}

fn object_key(key: &str) -> Result<ObjectKey, StoreError> {
    ObjectKey::parse(key).map_err(|error| StoreError::Corrupt {
        what: error.to_string(),
    })
}
