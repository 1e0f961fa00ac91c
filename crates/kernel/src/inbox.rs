//! Inboxes: the rows of each worker, in the order of their sequence. Everything here runs inside somebody's
//! transaction.

use crate::keys::InboxKey;
use crate::kv::MAX_VALUE;
use crate::records::DeadLetter;
use crate::{Dbi, KvTx, MessageView, Status, WireError, tail};

/// The longest frame a row may hold: it must still fit into a dead letter.
pub const MAX_FRAME: usize = MAX_VALUE - DeadLetter::HEADER;

/// The longest message id that is sent: it becomes part of a key, and one of the stores limits an index entry to a
/// third of an 8 KiB page.
pub const MAX_MESSAGE_ID: usize = 1024;

/// Puts a frame at a place of the caller's choice. A place that is taken is [`Status::Exists`]: nothing is ever
/// overwritten.
pub fn put<T: KvTx + ?Sized>(
    tx: &mut T,
    worker: u64,
    seq: u64,
    frame: &[u8],
) -> Result<(), Status> {
    check_frame(frame)?;
    tx.insert(Dbi::INBOX, &InboxKey::new(worker, seq).to_bytes(), frame)
}

/// Sends a message to the tail of its worker's inbox.
pub fn send<T: KvTx + ?Sized>(tx: &mut T, message: &MessageView<'_>) -> Result<InboxKey, Status> {
    let (worker, frame) = address(message)?;
    append(tx, worker, &frame)
}

/// Puts a frame at the tail of a worker's inbox.
pub fn append<T: KvTx + ?Sized>(tx: &mut T, worker: u64, frame: &[u8]) -> Result<InboxKey, Status> {
    check_frame(frame)?;
    append_behind(tx, worker, 0, frame, tail::TRIES)
}

/// The sequence behind all others of this worker: one more than the largest of its inbox *and* its dead letters.
///
/// Dead letters keep the sequence they failed at. Were an empty inbox to start at 0 again, a later failure would land
/// on the key of an earlier dead letter, and one of the two would be lost.
pub fn next_seq<T: KvTx + ?Sized>(tx: &mut T, worker: u64) -> Result<u64, Status> {
    let (from, until) = InboxKey::range_of(worker);
    let mut next = 0;
    for dbi in [Dbi::INBOX, Dbi::DEAD_LETTER] {
        let last = tx.last(dbi, &from, until.as_ref().map(<[u8; 16]>::as_slice))?;
        if let Some((key, _)) = last {
            let seq = InboxKey::decode(&key)?.seq;
            next = next.max(seq.checked_add(1).ok_or(Status::Full)?);
        }
    }
    Ok(next)
}

/// Up to `limit` rows of a worker, from a sequence on.
pub fn rows<T: KvTx + ?Sized>(
    tx: &mut T,
    worker: u64,
    from_seq: u64,
    limit: usize,
) -> Result<Vec<(InboxKey, Vec<u8>)>, Status> {
    let (_, until) = InboxKey::range_of(worker);
    let from = InboxKey::new(worker, from_seq).to_bytes();
    let rows = tx.scan(
        Dbi::INBOX,
        &from,
        until.as_ref().map(<[u8; 16]>::as_slice),
        limit,
    )?;
    rows.into_iter()
        .map(|(key, frame)| Ok((InboxKey::decode(&key)?, frame)))
        .collect()
}

/// Puts a frame at the tail, and not before `floor`.
pub(crate) fn append_behind<T: KvTx + ?Sized>(
    tx: &mut T,
    worker: u64,
    floor: u64,
    frame: &[u8],
    tries: u32,
) -> Result<InboxKey, Status> {
    tail::append(tx, Dbi::INBOX, frame, tries, |tx| {
        let key = InboxKey::new(worker, next_seq(tx, worker)?.max(floor));
        Ok((key, key.to_bytes()))
    })
}

/// Whose inbox a message goes to, and the frame it becomes.
pub(crate) fn address(message: &MessageView<'_>) -> Result<(u64, Vec<u8>), Status> {
    let worker = u64::try_from(message.to_worker).map_err(|_| WireError::Invalid)?;
    Ok((worker, frame_of(message)?))
}

/// The frame of a message that can be kept: its id fits into a key, and the whole into a dead letter.
pub(crate) fn frame_of(message: &MessageView<'_>) -> Result<Vec<u8>, Status> {
    if message.id.len() > MAX_MESSAGE_ID {
        return Err(Status::Full);
    }
    let frame = message.encode()?;
    check_frame(&frame)?;
    Ok(frame)
}

pub(crate) fn check_frame(frame: &[u8]) -> Result<(), Status> {
    match frame.len() {
        0 => Err(WireError::Invalid.into()),
        length if length > MAX_FRAME => Err(Status::Full),
        _ => Ok(()),
    }
}
