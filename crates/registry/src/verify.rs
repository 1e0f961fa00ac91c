//! Reading everything again, to see whether it still is what it was.

use kiln_model::{Algorithm, Digest};
use kiln_store::Error;
use kiln_store::sql::registry::{blob, manifest};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256, Sha512};

use futures_util::StreamExt as _;

use crate::Registry;
use crate::manifests::hash;

/// Blobs are large: one at a time shows progress.
const BLOBS: u32 = 1;
const MANIFESTS: u32 = 64;

/// Where to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyCursor {
    Manifests { after: i64 },
    Blobs { after: i64 },
}

/// Something whose bytes are gone, or are others than they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    pub digest: Digest,
    pub what: String,
}

/// What one page found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    pub manifests: u64,
    pub blobs: u64,
    pub bytes: u64,
    pub damaged: Vec<Damaged>,
}

impl Registry {
    /// Reads and hashes one page; answers what was wrong with it, and where the next begins.
    pub async fn verify(
        &self,
        cursor: VerifyCursor,
    ) -> Result<(Verified, Option<VerifyCursor>), Error> {
        match cursor {
            VerifyCursor::Manifests { after } => self.verify_manifests(after).await,
            VerifyCursor::Blobs { after } => self.verify_blobs(after).await,
        }
    }

    async fn verify_manifests(
        &self,
        after: i64,
    ) -> Result<(Verified, Option<VerifyCursor>), Error> {
        let page: Result<_, Error> = self
            .store
            .reader
            .read(move |query| manifest::list(query, after, MANIFESTS))
            .await;
        let page = page?;
        let Some(last) = page.last().map(|(id, _)| *id) else {
            return Ok((Verified::default(), Some(VerifyCursor::Blobs { after: 0 })));
        };
        let mut verified = Verified::default();
        for (id, digest) in page {
            let body: Result<_, Error> = self
                .store
                .reader
                .read(move |query| manifest::body(query, id))
                .await;
            // None: it was deleted since the page was listed.
            let Some(body) = body? else { continue };
            verified.manifests += 1;
            verified.bytes += body.len() as u64;
            let actual = hash(&body, digest.algorithm());
            if actual != digest {
                let what = format!("the manifest's bytes hash to {actual}");
                verified.damaged.push(Damaged { digest, what });
            }
        }
        Ok((verified, Some(VerifyCursor::Manifests { after: last })))
    }

    async fn verify_blobs(&self, after: i64) -> Result<(Verified, Option<VerifyCursor>), Error> {
        let page: Result<_, Error> = self
            .store
            .reader
            .read(move |query| blob::list(query, after, BLOBS))
            .await;
        let page = page?;
        let mut verified = Verified::default();
        let Some(last) = page.last().map(|blob| blob.id) else {
            return Ok((verified, None));
        };
        for found in page {
            verified.blobs += 1;
            verified.bytes += found.size;
            if let Some(what) = self.damage(&found).await? {
                verified.damaged.push(Damaged {
                    digest: found.digest,
                    what,
                });
            }
        }
        Ok((verified, Some(VerifyCursor::Blobs { after: last })))
    }

    async fn damage(&self, blob: &blob::Blob) -> Result<Option<String>, Error> {
        let id = blob.id;
        let pieces: Result<_, Error> = self
            .store
            .reader
            .read(move |query| blob::pieces(query, id))
            .await;
        let mut hash = Hash::new(blob.digest.algorithm());
        let mut content = std::pin::pin!(self.pieces.read(pieces?, 0..blob.size));
        while let Some(bytes) = content.next().await {
            match bytes {
                Ok(bytes) => hash.update(&bytes),
                Err(error) => return self.unless_gone(blob, error.to_string()).await,
            }
        }
        let actual = hash.finish();
        if actual == blob.digest {
            return Ok(None);
        }
        self.unless_gone(blob, format!("the blob's bytes hash to {actual}"))
            .await
    }

    /// A blob that was deleted while it was read is not damaged.
    async fn unless_gone(&self, blob: &blob::Blob, what: String) -> Result<Option<String>, Error> {
        let digest = blob.digest.clone();
        let still: Result<_, Error> = self
            .store
            .reader
            .read(move |query| blob::find(query, &digest))
            .await;
        Ok(still?.filter(|still| still.id == blob.id).map(|_| what))
    }
}

enum Hash {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Hash {
    fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    fn finish(self) -> Digest {
        let digest = match self {
            Self::Sha256(hash) => Digest::from_hash(&hash.finalize()),
            Self::Sha512(hash) => Digest::from_hash(&hash.finalize()),
        };
        digest.expect("both hashes have the length of a digest")
    }
}
