//! Dead letters: frames that spent their budget or never decoded, kept until somebody looks.

use crate::drained::{Drained, stops};
use crate::keys::InboxKey;
use crate::records::{DeadLetter, Lease};
use crate::slot::Slot;
use crate::{Dbi, KvTx, Status, inbox, mailbox};

/// Moves a claimed row here and ends the claim, under the guard of the lease token. The answer is where the letter
/// lies.
pub fn bury<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    token: &Lease,
    worker: u64,
    failure: &Status,
    attempts: u32,
) -> Result<InboxKey, Status> {
    mailbox::check_token(tx, slot, token)?;
    let frame = tx.get(slot.dbi(), &slot.key())?.ok_or(Status::NotFound)?;
    let key = store(tx, slot, worker, failure, attempts, &frame)?;
    mailbox::ack(tx, slot, token)?;
    Ok(key)
}

/// Up to `limit` letters in key order, from a key on.
pub fn list<T: KvTx + ?Sized>(
    tx: &mut T,
    from: InboxKey,
    limit: usize,
) -> Result<Vec<(InboxKey, DeadLetter)>, Status> {
    let rows = tx.scan(Dbi::DEAD_LETTER, &from.to_bytes(), None, limit)?;
    let decode = |(key, value): (Vec<u8>, Vec<u8>)| {
        Ok((InboxKey::decode(&key)?, DeadLetter::decode(&value)?))
    };
    rows.into_iter().map(decode).collect()
}

pub fn show<T: KvTx + ?Sized>(tx: &mut T, key: InboxKey) -> Result<Option<DeadLetter>, Status> {
    tx.get(Dbi::DEAD_LETTER, &key.to_bytes())?
        .as_deref()
        .map(DeadLetter::decode)
        .transpose()
}

/// Hands up to `max` letters to `each`, in key order, and removes them; an error of `each` stops there and keeps that
/// letter.
pub fn drain<T: KvTx + ?Sized>(
    tx: &mut T,
    max: usize,
    mut each: impl FnMut(&mut T, InboxKey, &DeadLetter) -> Result<(), Status>,
) -> Result<Drained, Status> {
    let mut processed = 0;
    for (key, letter) in list(tx, InboxKey::new(0, 0), max)? {
        if let Err(stopped_by) = stops(tx, |tx| each(tx, key, &letter))? {
            return Ok(Drained {
                processed,
                stopped_by: Some(stopped_by),
            });
        }
        tx.delete_matching(Dbi::DEAD_LETTER, &key.to_bytes(), &letter.encode()?)?;
        processed += 1;
    }
    Ok(Drained {
        processed,
        stopped_by: None,
    })
}

/// Puts a letter's frame back into its worker's inbox, at a sequence of the caller's choice, and removes the letter.
/// A taken sequence is [`Status::Exists`], and then nothing has changed.
pub fn replay<T: KvTx + ?Sized>(
    tx: &mut T,
    key: InboxKey,
    replay_seq: u64,
) -> Result<InboxKey, Status> {
    let letter = show(tx, key)?.ok_or(Status::NotFound)?;
    let target = InboxKey::new(key.worker, replay_seq);
    tx.insert(Dbi::INBOX, &target.to_bytes(), &letter.frame)?;
    tx.delete(Dbi::DEAD_LETTER, &key.to_bytes())?;
    Ok(target)
}

/// As [`replay`], at the tail of the inbox.
pub fn replay_at_tail<T: KvTx + ?Sized>(tx: &mut T, key: InboxKey) -> Result<InboxKey, Status> {
    let seq = inbox::next_seq(tx, key.worker)?;
    replay(tx, key, seq)
}

/// Writes the letter of a slot. An inbox row keeps its key; a timer, and a row whose key is taken, gets the next
/// sequence of its worker, so that two letters never share one.
pub(crate) fn store<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    worker: u64,
    failure: &Status,
    attempts: u32,
    frame: &[u8],
) -> Result<InboxKey, Status> {
    let record = DeadLetter::encode_parts(failure.code(), attempts, frame)?;
    if let Slot::Inbox(key) = slot {
        match tx.insert(Dbi::DEAD_LETTER, &key.to_bytes(), &record) {
            Err(Status::Exists) => {}
            stored => return stored.map(|()| key),
        }
    }
    let key = InboxKey::new(worker, inbox::next_seq(tx, worker)?);
    tx.insert(Dbi::DEAD_LETTER, &key.to_bytes(), &record)?;
    Ok(key)
}
