//! Retry counters: how often a message failed since it last succeeded, under the original's key.

use crate::keys::retry_key;
use crate::records::RetryCount;
use crate::{Dbi, KvTx, Status};

pub fn count<T: KvTx + ?Sized>(tx: &mut T, id: &[u8]) -> Result<RetryCount, Status> {
    let stored = tx.get(Dbi::DEDUPE, &retry_key(id))?;
    Ok(stored
        .as_deref()
        .map(RetryCount::decode)
        .transpose()?
        .unwrap_or_default())
}

/// One failure more; a counter at its end is [`Status::Full`].
pub fn add<T: KvTx + ?Sized>(tx: &mut T, id: &[u8]) -> Result<RetryCount, Status> {
    let next = count(tx, id)?.next()?;
    tx.put(Dbi::DEDUPE, &retry_key(id), &next.to_bytes())?;
    Ok(next)
}

/// Forgets the failures; tells whether there were any.
pub fn clear<T: KvTx + ?Sized>(tx: &mut T, id: &[u8]) -> Result<bool, Status> {
    tx.delete(Dbi::DEDUPE, &retry_key(id))
}
