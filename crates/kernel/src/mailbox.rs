//! Claiming a slot, and what ends a claim: ack, requeue, release.
//!
//! A claim is a lease whose exact bytes are the token: whoever cannot show them any more (another took over, the row
//! was moved, a timer was cancelled) is told [`Status::Conflict`] and changes nothing.

use kiln_model::Millis;

use crate::keys::InboxKey;
use crate::records::Lease;
use crate::slot::Slot;
use crate::{Dbi, KvTx, Status, inbox};

/// Takes the slot for `owner` until `now + ttl_ms`.
///
/// A live lease is [`Status::Busy`], for its own holder too; an expired one is taken over and counts one attempt more.
pub fn claim<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    owner: u64,
    now: Millis,
    ttl_ms: i64,
) -> Result<Lease, Status> {
    if tx.get(slot.dbi(), &slot.key())?.is_none() {
        return Err(Status::NotFound);
    }
    let held = tx.get(Dbi::LEASES, slot.lease_key().as_slice())?;
    let lease = take_over(held.as_deref(), owner, now, ttl_ms)?;
    tx.put(Dbi::LEASES, slot.lease_key().as_slice(), &lease.to_bytes())?;
    Ok(lease)
}

/// Extends a claim; the answer is the new token.
pub fn renew<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    token: &Lease,
    deadline: Millis,
) -> Result<Lease, Status> {
    check_token(tx, slot, token)?;
    let renewed = Lease { deadline, ..*token };
    tx.put(
        Dbi::LEASES,
        slot.lease_key().as_slice(),
        &renewed.to_bytes(),
    )?;
    Ok(renewed)
}

/// Done: row and lease go together.
pub fn ack<T: KvTx + ?Sized>(tx: &mut T, slot: Slot, token: &Lease) -> Result<(), Status> {
    release(tx, slot, token)?;
    if tx.delete(slot.dbi(), &slot.key())? {
        Ok(())
    } else {
        Err(Status::NotFound)
    }
}

/// Gives the claim back and leaves the row where it is.
pub fn release<T: KvTx + ?Sized>(tx: &mut T, slot: Slot, token: &Lease) -> Result<(), Status> {
    if tx.delete_matching(Dbi::LEASES, slot.lease_key().as_slice(), &token.to_bytes())? {
        return Ok(());
    }
    Err(Status::Conflict)
}

/// Moves a claimed row to the tail of its inbox and ends the claim; the answer is where it went.
pub fn requeue<T: KvTx + ?Sized>(
    tx: &mut T,
    key: InboxKey,
    token: &Lease,
    tries: u32,
) -> Result<InboxKey, Status> {
    let slot = Slot::Inbox(key);
    check_token(tx, slot, token)?;
    let frame = tx
        .get(Dbi::INBOX, &key.to_bytes())?
        .ok_or(Status::NotFound)?;
    let moved = inbox::append_behind(tx, key.worker, 0, &frame, tries)?;
    ack(tx, slot, token)?;
    Ok(moved)
}

/// The lease that follows from what lies there, if it may be taken.
pub(crate) fn take_over(
    held: Option<&[u8]>,
    owner: u64,
    now: Millis,
    ttl_ms: i64,
) -> Result<Lease, Status> {
    let deadline = Millis(now.0.saturating_add(ttl_ms));
    let attempts = match held.map(Lease::decode).transpose()? {
        Some(lease) if lease.is_live(now) => return Err(Status::Busy),
        Some(expired) => expired.attempts.saturating_add(1),
        None => 1,
    };
    Ok(Lease {
        owner,
        deadline,
        attempts,
    })
}

pub(crate) fn check_token<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    token: &Lease,
) -> Result<(), Status> {
    let held = tx.get(Dbi::LEASES, slot.lease_key().as_slice())?;
    if held.as_deref() == Some(&token.to_bytes()) {
        Ok(())
    } else {
        Err(Status::Conflict)
    }
}
