//! What operators do to the registry of a store.

use std::time::Duration;

use kiln_control::Denied;
use kiln_model::operator::registry::{
    CollectRequest, Collected, Damaged, Quota, RegistryStats, Verified, VerifyRequest,
};
use kiln_registry::{Cursor, GRACE, Keep, Refusal, Registry, VerifyCursor};
use kiln_store::sql::project;
use kiln_store::sql::registry::stats as counts;
use kiln_store::{Error, Store};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Counts what there is.
pub async fn stats(store: &Store) -> Result<RegistryStats, Denied> {
    let counted: Result<_, Error> = store.reader.read(|query| counts::count(query)).await;
    let counted = counted?;
    Ok(RegistryStats {
        repositories: counted.repositories,
        manifests: counted.manifests,
        tags: counted.tags,
        blobs: counted.blobs,
        blob_bytes: counted.blob_bytes,
        held_bytes: counted.held_bytes,
        spare_blobs: counted.spare_blobs,
        uploads: counted.uploads,
        upload_bytes: counted.upload_bytes,
    })
}

/// Collects one page.
pub async fn collect(store: &Store, request: &CollectRequest) -> Result<Collected, Denied> {
    let keep = Keep {
        younger_than: request.older_than.map_or(GRACE, Duration::from_secs),
        untagged: !request.untagged,
    };
    let cursor = cursor(request.from.as_deref())?.unwrap_or(Cursor::Uploads);
    let (collected, next) = Registry::new(store.clone()).collect(cursor, keep).await?;
    Ok(Collected {
        uploads: collected.uploads,
        manifests: collected.manifests,
        holdings: collected.holdings,
        objects: collected.objects,
        bytes: collected.bytes,
        next: next.as_ref().map(written),
    })
}

/// Reads and hashes one page.
pub async fn verify(store: &Store, request: &VerifyRequest) -> Result<Verified, Denied> {
    let cursor = cursor(request.from.as_deref())?.unwrap_or(VerifyCursor::Manifests { after: 0 });
    let (verified, next) = Registry::new(store.clone()).verify(cursor).await?;
    let damaged = verified.damaged.into_iter().map(|damaged| Damaged {
        digest: damaged.digest.to_string(),
        what: damaged.what,
    });
    Ok(Verified {
        manifests: verified.manifests,
        blobs: verified.blobs,
        bytes: verified.bytes,
        damaged: damaged.collect(),
        next: next.as_ref().map(written),
    })
}

pub async fn quota(store: &Store, reference: &str) -> Result<Quota, Denied> {
    let project = find(store, reference).await?;
    let usage = Registry::new(store.clone()).usage(project).await;
    let usage = usage.map_err(denied)?;
    Ok(Quota {
        bytes: usage.bytes,
        quota: usage.quota,
    })
}

/// Sets how many bytes of blobs the project may hold.
pub async fn set_quota(
    store: &Store,
    reference: &str,
    quota: Option<u64>,
) -> Result<Quota, Denied> {
    // As much as a column of the database holds.
    if quota.is_some_and(|quota| i64::try_from(quota).is_err()) {
        let most = i64::MAX;
        return Err(Denied::Invalid(format!("a quota is at most {most} bytes")));
    }
    let project = find(store, reference).await?;
    let set = Registry::new(store.clone()).set_quota(project, quota).await;
    set.map_err(denied)?;
    self::quota(store, reference).await
}

async fn find(store: &Store, reference: &str) -> Result<i64, Denied> {
    let reference = reference.to_owned();
    let found: Result<_, Error> = store
        .reader
        .read(move |query| project::find_by_ref(query, &reference))
        .await;
    Ok(found?.ok_or(Denied::NotFound("project"))?.id)
}

/// Of calls that ask for nothing that could be refused: only the store can have failed.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every other refusal is one message"
)]
fn denied(refusal: Refusal) -> Denied {
    match refusal {
        Refusal::Store(error) => Denied::Store(error),
        other => Denied::Invalid(other.to_string()),
    }
}

fn cursor<T: DeserializeOwned>(from: Option<&str>) -> Result<Option<T>, Denied> {
    let read = from.map(serde_json::from_str).transpose();
    read.map_err(|_| Denied::Invalid("`from` is not where a page before said to go on".to_owned()))
}

fn written(cursor: &impl Serialize) -> String {
    serde_json::to_string(cursor).expect("a cursor is plain data")
}
