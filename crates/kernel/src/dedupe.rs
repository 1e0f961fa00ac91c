//! Dedupe records: which message ids were accepted, so that a repeated message has one effect.

use kiln_model::Millis;

use crate::keys::{DEDUPE_PREFIX, dedupe_key, end_of_prefix, successor};
use crate::records::DedupeRecord;
use crate::{Dbi, KvTx, Status};

/// Whether this id was accepted within the window (0 = ever).
pub fn is_repetition<T: KvTx + ?Sized>(
    tx: &mut T,
    id: &[u8],
    now: Millis,
    window_ms: i64,
) -> Result<bool, Status> {
    Ok(show(tx, id)?.is_some_and(|record| record.covers(now, window_ms)))
}

pub fn show<T: KvTx + ?Sized>(tx: &mut T, id: &[u8]) -> Result<Option<DedupeRecord>, Status> {
    tx.get(Dbi::DEDUPE, &dedupe_key(id))?
        .as_deref()
        .map(DedupeRecord::decode)
        .transpose()
}

pub fn remember<T: KvTx + ?Sized>(
    tx: &mut T,
    id: &[u8],
    record: &DedupeRecord,
) -> Result<(), Status> {
    tx.put(Dbi::DEDUPE, &dedupe_key(id), &record.encode())
}

/// How far a sweep came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swept {
    pub removed: usize,
    /// Where to go on; `None` when the end was reached.
    pub next: Option<Vec<u8>>,
}

/// Looks at up to `limit` records, from where an earlier sweep ended, and removes those last seen before `cutoff`.
pub fn sweep<T: KvTx + ?Sized>(
    tx: &mut T,
    cutoff: Millis,
    from: Option<&[u8]>,
    limit: usize,
) -> Result<Swept, Status> {
    let end = end_of_prefix(DEDUPE_PREFIX);
    let rows = tx.scan(
        Dbi::DEDUPE,
        from.unwrap_or(DEDUPE_PREFIX),
        Some(&end),
        limit,
    )?;
    let next = (rows.len() == limit)
        .then(|| rows.last())
        .flatten()
        .map(|(key, _)| successor(key));
    let mut removed = 0;
    for (key, value) in rows {
        if DedupeRecord::decode(&value)?.last_seen < cutoff {
            tx.delete(Dbi::DEDUPE, &key)?;
            removed += 1;
        }
    }
    Ok(Swept { removed, next })
}
