//! How much a project may hold.

use kiln_store::Tx;
use kiln_store::sql::registry::blob::{self, Blob};
use kiln_store::sql::registry::usage;

pub use kiln_store::sql::registry::usage::Usage;

use crate::{Refusal, Registry};

impl Registry {
    pub async fn usage(&self, project: i64) -> Result<Usage, Refusal> {
        let found: Result<_, kiln_store::Error> = self
            .store
            .reader
            .read(move |query| usage::find(query, project))
            .await;
        Ok(found?)
    }

    /// Sets how many bytes of blobs the project may hold; what it holds already it keeps.
    pub async fn set_quota(&self, project: i64, quota: Option<u64>) -> Result<(), Refusal> {
        let set: Result<_, kiln_store::Error> = self
            .store
            .ledger
            .submit(move |tx| usage::set_quota(tx, project, quota))
            .await;
        Ok(set?)
    }

    /// How many more bytes the project may hold, as it looks now. The transaction that makes a blob looks again.
    pub(crate) async fn quota_room(&self, project: i64) -> Result<u64, Refusal> {
        Ok(self.usage(project).await?.room())
    }
}

/// Gives the project a right to the blob, if it has room for one more or has that one already.
pub(crate) fn hold(tx: &mut dyn Tx, project: i64, blob: &Blob) -> Result<(), Refusal> {
    tx.serialize_on(&format!("registry quota {project}"))?;
    let known = blob::find_held(tx, project, &blob.digest)?.is_some();
    if !known && usage::find(tx, project)?.room() < blob.size {
        return Err(Refusal::QuotaExceeded);
    }
    Ok(blob::hold(tx, project, blob)?)
}
