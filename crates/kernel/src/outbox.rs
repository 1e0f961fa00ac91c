//! The outbox: messages that leave this kernel, in the order in which they were emitted.

use crate::drained::{Drained, stops};
use crate::inbox::check_frame;
use crate::keys::OutboxKey;
use crate::{Dbi, KvTx, Status, tail};

/// Puts a frame at a sequence of the caller's choice; a taken one is [`Status::Exists`].
pub fn put<T: KvTx + ?Sized>(tx: &mut T, seq: u64, frame: &[u8]) -> Result<(), Status> {
    check_frame(frame)?;
    tx.insert(Dbi::OUTBOX, &OutboxKey::new(seq).to_bytes(), frame)
}

/// Puts a frame behind all others, and not before `floor`; the answer is its sequence.
pub fn append_from<T: KvTx + ?Sized>(tx: &mut T, floor: u64, frame: &[u8]) -> Result<u64, Status> {
    check_frame(frame)?;
    tail::append(tx, Dbi::OUTBOX, frame, tail::TRIES, |tx| {
        let seq = match tx.last(Dbi::OUTBOX, &[], None)? {
            Some((key, _)) => OutboxKey::decode(&key)?
                .seq
                .checked_add(1)
                .ok_or(Status::Full)?,
            None => 0,
        };
        let key = OutboxKey::new(seq.max(floor));
        Ok((key.seq, key.to_bytes()))
    })
}

pub fn append<T: KvTx + ?Sized>(tx: &mut T, frame: &[u8]) -> Result<u64, Status> {
    append_from(tx, 0, frame)
}

/// The oldest frames, still in place: what a sender delivers before it removes them one by one.
pub fn peek<T: KvTx + ?Sized>(tx: &mut T, limit: usize) -> Result<Vec<(u64, Vec<u8>)>, Status> {
    let rows = tx.scan(Dbi::OUTBOX, &[], None, limit)?;
    rows.into_iter()
        .map(|(key, frame)| Ok((OutboxKey::decode(&key)?.seq, frame)))
        .collect()
}

/// Removes a delivered frame if it is still the one that was delivered.
pub fn remove<T: KvTx + ?Sized>(tx: &mut T, seq: u64, frame: &[u8]) -> Result<(), Status> {
    let key = OutboxKey::new(seq).to_bytes();
    if tx.delete_matching(Dbi::OUTBOX, &key, frame)? {
        return Ok(());
    }
    Err(if tx.get(Dbi::OUTBOX, &key)?.is_some() {
        Status::Conflict
    } else {
        Status::NotFound
    })
}

/// Hands up to `max` frames to `each`, oldest first, and removes them; an error of `each` stops there and keeps that
/// frame.
pub fn drain<T: KvTx + ?Sized>(
    tx: &mut T,
    max: usize,
    mut each: impl FnMut(&mut T, u64, &[u8]) -> Result<(), Status>,
) -> Result<Drained, Status> {
    let mut processed = 0;
    for (seq, frame) in peek(tx, max)? {
        if let Err(stopped_by) = stops(tx, |tx| each(tx, seq, &frame))? {
            return Ok(Drained {
                processed,
                stopped_by: Some(stopped_by),
            });
        }
        remove(tx, seq, &frame)?;
        processed += 1;
    }
    Ok(Drained {
        processed,
        stopped_by: None,
    })
}
