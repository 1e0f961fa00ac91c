//! What the server looks after now and then: uploads of outputs that nobody went on with, and then the registry.

use std::fmt;

use kiln_control::housekeeping::Housekeeper;
use kiln_control::{Denied, outputs};
use kiln_registry::{Collected, Cursor, Keep, Registry};
use kiln_store::sql::job_upload::Upload;
use kiln_store::{Error, ObjectKey, Store, Tx};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

/// How many uploads one page removes.
const PAGE: u32 = 32;

/// The kernel's thread waits for what it does.
pub(crate) struct Keeper {
    pub(crate) store: Store,
    pub(crate) handle: Handle,
}

/// What the next page looks after.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Next {
    Outputs,
    Registry(Cursor),
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").finish_non_exhaustive()
    }
}

impl Housekeeper for Keeper {
    fn page(&self, from: Option<&str>) -> Result<Option<String>, Error> {
        let next = from.and_then(|text| serde_json::from_str(text).ok());
        let next = match next.unwrap_or(Next::Outputs) {
            Next::Outputs => self.handle.block_on(sweep_outputs(&self.store))?,
            Next::Registry(cursor) => self.collect(cursor)?,
        };
        Ok(next.map(|next| serde_json::to_string(&next).expect("a cursor is plain data")))
    }
}

impl Keeper {
    fn collect(&self, cursor: Cursor) -> Result<Option<Next>, Error> {
        let registry = Registry::new(self.store.clone());
        let page = registry.collect(cursor, Keep::default());
        let (collected, next) = self.handle.block_on(page)?;
        if collected != Collected::default() {
            tracing::info!(?collected, "the registry let go of what nobody needs");
        }
        Ok(next.map(Next::Registry))
    }
}

/// Removes a page of uploads that nobody needs. The objects of an upload go before its row: a crash in between leaves the
/// row, and the next round goes on from it.
async fn sweep_outputs(store: &Store) -> Result<Option<Next>, Error> {
    let leaving = store
        .ledger
        .submit(|tx: &mut dyn Tx| outputs::leaving(tx, PAGE))
        .await
        .map_err(trouble)?;
    for upload in &leaving {
        remove_objects(store, upload).await?;
        let id = upload.id;
        store
            .ledger
            .submit(move |tx: &mut dyn Tx| outputs::gone(tx, id))
            .await
            .map_err(trouble)?;
    }
    let spare = store
        .ledger
        .submit(|tx: &mut dyn Tx| outputs::with_spare_pieces(tx, PAGE))
        .await
        .map_err(trouble)?;
    for upload in &spare {
        remove_pieces(store, upload).await?;
    }
    if !leaving.is_empty() {
        tracing::info!(
            count = leaving.len(),
            "uploads of outputs that nobody went on with were removed"
        );
    }
    let is_full = u32::try_from(leaving.len()).is_ok_and(|count| count == PAGE);
    Ok(Some(if is_full {
        Next::Outputs
    } else {
        Next::Registry(Cursor::Uploads)
    }))
}

async fn remove_objects(store: &Store, upload: &Upload) -> Result<(), Error> {
    remove_pieces(store, upload).await?;
    let whole = ObjectKey::parse(&upload.object_key).map_err(|error| Error::Corrupt {
        what: error.to_string(),
    })?;
    store.objects.delete(&whole).await?;
    Ok(())
}

/// All that lies where the pieces do, whether or not a row speaks of it.
pub(crate) async fn remove_pieces(store: &Store, upload: &Upload) -> Result<(), Error> {
    let prefix = &upload.pieces_prefix;
    for entry in store.objects.list(prefix, None, usize::MAX).await? {
        store.objects.delete(&entry.key).await?;
    }
    let id = upload.id;
    let forget = move |tx: &mut dyn Tx| outputs::forget_pieces(tx, id);
    store.ledger.submit(forget).await.map_err(trouble)
}

/// Denials cannot happen here: nobody asked for anything.
fn trouble(denied: Denied) -> Error {
    if let Denied::Store(error) = denied {
        return error;
    }
    Error::Corrupt {
        what: denied.to_string(),
    }
}
