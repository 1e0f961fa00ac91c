//! Letting go of what nobody needs any more, a page at a time and while pushes run.
//!
//! ```text
//! uploads ─▶ (manifests ─▶) blobs ─▶ objects ─▶ staging ─▶ done
//! ```
//!
//! - *Uploads* that nobody added to for a while.
//! - *Manifests* without a tag, only if asked to: a job may still name one, and then it stays.
//! - *Blobs* that a project holds, none of its manifests names, and nobody pushed, mounted or looked for in a while.
//! - *Objects* that no row speaks of: a process died between the object and its row, or a deletion failed.
//! - *Staging*: what was being written when a process died.
//!
//! Rows go first, in a transaction that looks again; objects go after its commit. What a crash leaves in between is an
//! object that no row speaks of.

use std::time::Duration;

use kiln_model::Millis;
use kiln_store::sql::registry::piece::Piece;
use kiln_store::sql::registry::{blob, collect, manifest, upload};
use kiln_store::{Error, ObjectKey, Tx};
use serde::{Deserialize, Serialize};

use crate::Registry;
use crate::uploads::blob_lock;

/// Longer than any push takes, so that what one needs is never taken from it.
pub const GRACE: Duration = Duration::from_hours(24);
/// As much as one transaction holds the ledger for, and one kernel frame its worker.
const PAGE: u32 = 256;
/// Where the objects of uploads and blobs lie.
const OBJECTS: &str = "registry";

/// What is not to be collected.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// What was touched within this time.
    pub younger_than: Duration,
    /// Manifests without a tag.
    pub untagged: bool,
}

/// Where to go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cursor {
    Uploads,
    Manifests { after: i64 },
    Blobs { after: i64 },
    Objects { after: Option<String> },
    Staging,
}

/// What one page let go of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    pub uploads: u64,
    pub manifests: u64,
    /// Rights of projects to blobs.
    pub holdings: u64,
    pub objects: u64,
    /// What the objects took.
    pub bytes: u64,
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            younger_than: GRACE,
            untagged: true,
        }
    }
}

impl Registry {
    /// Collects one page; answers what went, and where the next page begins.
    pub async fn collect(
        &self,
        cursor: Cursor,
        keep: Keep,
    ) -> Result<(Collected, Option<Cursor>), Error> {
        match cursor {
            Cursor::Uploads => self.collect_uploads(keep).await,
            Cursor::Manifests { after } => self.collect_manifests(after, keep).await,
            Cursor::Blobs { after } => self.collect_blobs(after, keep).await,
            Cursor::Objects { after } => self.collect_objects(after).await,
            Cursor::Staging => self.collect_staging(keep).await,
        }
    }

    async fn collect_uploads(&self, keep: Keep) -> Result<(Collected, Option<Cursor>), Error> {
        let removed = self.store.ledger.submit(move |tx| {
            let before = before(tx.now(), keep);
            let mut removed = Vec::new();
            for id in collect::expired_uploads(tx, before, PAGE)? {
                let pieces = upload::pieces(tx, id)?;
                if upload::remove(tx, id)? {
                    removed.push(pieces);
                }
            }
            Ok(removed)
        });
        let removed: Result<Vec<Vec<Piece>>, Error> = removed.await;
        let removed = removed?;
        let mut collected = self.discard(removed.concat()).await;
        collected.uploads = removed.len() as u64;
        let next = if removed.len() as u64 >= u64::from(PAGE) {
            Cursor::Uploads
        } else if keep.untagged {
            Cursor::Blobs { after: 0 }
        } else {
            Cursor::Manifests { after: 0 }
        };
        Ok((collected, Some(next)))
    }

    async fn collect_manifests(
        &self,
        after: i64,
        keep: Keep,
    ) -> Result<(Collected, Option<Cursor>), Error> {
        let removed = self.store.ledger.submit(move |tx| {
            let before = before(tx.now(), keep);
            let ids = collect::untagged_manifests(tx, after, before, PAGE)?;
            for id in &ids {
                manifest::remove(tx, *id)?;
            }
            Ok(ids)
        });
        let removed: Result<Vec<i64>, Error> = removed.await;
        let removed = removed?;
        let collected = Collected {
            manifests: removed.len() as u64,
            ..Collected::default()
        };
        // What an index named may have come before it, so another round begins at the front until nothing is left.
        let next = match removed.last() {
            Some(last) if removed.len() as u64 >= u64::from(PAGE) => {
                Cursor::Manifests { after: *last }
            }
            Some(_) => Cursor::Manifests { after: 0 },
            None => Cursor::Blobs { after: 0 },
        };
        Ok((collected, Some(next)))
    }

    async fn collect_blobs(
        &self,
        after: i64,
        keep: Keep,
    ) -> Result<(Collected, Option<Cursor>), Error> {
        let released = self
            .store
            .ledger
            .submit(move |tx| release_spare(tx, after, keep));
        let (released, last): (Vec<Vec<Piece>>, _) = released.await?;
        let mut collected = self.discard(released.concat()).await;
        collected.holdings = released.len() as u64;
        let next = last.map_or(Cursor::Objects { after: None }, |after| Cursor::Blobs {
            after,
        });
        Ok((collected, Some(next)))
    }

    async fn collect_objects(
        &self,
        after: Option<String>,
    ) -> Result<(Collected, Option<Cursor>), Error> {
        let after = after.and_then(|key| ObjectKey::parse(&key).ok());
        let page = self
            .store
            .objects
            .list(OBJECTS, after.as_ref(), PAGE as usize)
            .await?;
        // First what is there, then what rows speak of: a row that comes later is of an object that came later too.
        let listed: Vec<_> = page.iter().map(|entry| entry.key.to_string()).collect();
        let orphaned = self.store.reader.read(move |query| {
            let mut orphaned = Vec::new();
            for key in &listed {
                let upload = key.split('/').nth(1).unwrap_or_default();
                orphaned.push(!collect::is_needed(query, upload, key)?);
            }
            Ok(orphaned)
        });
        let orphaned: Result<Vec<bool>, Error> = orphaned.await;
        let mut collected = Collected::default();
        for (entry, _) in page.iter().zip(orphaned?).filter(|(_, orphan)| *orphan) {
            if self.store.objects.delete(&entry.key).await? {
                collected.objects += 1;
                collected.bytes += entry.size;
            }
        }
        let next = match page.last() {
            Some(last) if page.len() >= PAGE as usize => Cursor::Objects {
                after: Some(last.key.to_string()),
            },
            _ => Cursor::Staging,
        };
        Ok((collected, Some(next)))
    }

    async fn collect_staging(&self, keep: Keep) -> Result<(Collected, Option<Cursor>), Error> {
        let before = before(self.store.ledger.wall(), keep);
        let swept = self.store.objects.sweep(before).await?;
        let collected = Collected {
            objects: swept as u64,
            ..Collected::default()
        };
        Ok((collected, None))
    }

    async fn discard(&self, pieces: Vec<Piece>) -> Collected {
        self.pieces.delete(&pieces).await;
        Collected {
            objects: pieces.len() as u64,
            bytes: pieces.iter().map(|piece| piece.size).sum(),
            ..Collected::default()
        }
    }
}

impl std::ops::AddAssign for Collected {
    fn add_assign(&mut self, other: Self) {
        self.uploads += other.uploads;
        self.manifests += other.manifests;
        self.holdings += other.holdings;
        self.objects += other.objects;
        self.bytes += other.bytes;
    }
}

fn release_spare(
    tx: &mut dyn Tx,
    after: i64,
    keep: Keep,
) -> Result<(Vec<Vec<Piece>>, Option<i64>), Error> {
    let before = before(tx.now(), keep);
    let (spare, last) = collect::spare_holdings(tx, after, before, PAGE)?;
    let mut released = Vec::new();
    for found in spare {
        tx.serialize_on(&blob_lock(&found.blob.digest))?;
        // Somebody may have counted on it while this waited for the lock.
        let touched = blob::touched(tx, found.project, found.blob.id)?;
        let named = blob::named_by(tx, found.project, found.blob.id)?;
        if touched.is_some_and(|touched| touched < before) && named.is_none() {
            released.push(blob::release(tx, found.project, &found.blob)?);
        }
    }
    Ok((released, last))
}

fn before(now: Millis, keep: Keep) -> Millis {
    let span = i64::try_from(keep.younger_than.as_millis()).unwrap_or(i64::MAX);
    // Something touched at this very moment is not older than it, not even when nothing is kept for being young.
    Millis(now.0.saturating_sub(span))
}
