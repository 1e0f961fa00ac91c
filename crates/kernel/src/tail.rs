//! Appending behind what is there, also when several transactions do so at once.

use crate::{Dbi, KvTx, Status};

/// How often an append looks for the tail again when another transaction took the place.
pub(crate) const TRIES: u32 = 8;

/// Asks `place` for the next key and puts `value` there, again when the key was taken meanwhile.
pub(crate) fn append<T, K, B>(
    tx: &mut T,
    dbi: Dbi,
    value: &[u8],
    tries: u32,
    mut place: impl FnMut(&mut T) -> Result<(K, B), Status>,
) -> Result<K, Status>
where
    T: KvTx + ?Sized,
    B: AsRef<[u8]>,
{
    for _ in 0..tries.max(1) {
        let (key, bytes) = place(tx)?;
        match tx.insert(dbi, bytes.as_ref(), value) {
            Ok(()) => return Ok(key),
            Err(Status::Exists | Status::Conflict | Status::Busy) => {}
            Err(other) => return Err(other),
        }
    }
    Err(Status::Busy)
}
