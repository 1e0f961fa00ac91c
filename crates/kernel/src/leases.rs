//! General leases: the exclusive, expiring right to something the embedding program names by a key.

use kiln_model::Millis;

use crate::keys::{InboxKey, TIMER_LEASE_PREFIX};
use crate::records::Lease;
use crate::{Dbi, KvTx, Status};

/// Takes or extends the lease on `key`.
///
/// Held by another and live is [`Status::Busy`]. The holder may renew early; that, like a takeover of an expired lease,
/// counts one attempt more.
pub fn acquire<T: KvTx + ?Sized>(
    tx: &mut T,
    key: &[u8],
    owner: u64,
    now: Millis,
    ttl_ms: i64,
) -> Result<Lease, Status> {
    check_key(key)?;
    let held = show(tx, key)?;
    let attempts = match held {
        Some(lease) if lease.owner != owner && lease.is_live(now) => return Err(Status::Busy),
        Some(lease) => lease.attempts.saturating_add(1),
        None => 1,
    };
    let lease = Lease {
        owner,
        deadline: Millis(now.0.saturating_add(ttl_ms)),
        attempts,
    };
    tx.put(Dbi::LEASES, key, &lease.to_bytes())?;
    Ok(lease)
}

/// Extends a lease that `owner` still holds: not one that has expired, which might have had another holder since.
pub fn renew<T: KvTx + ?Sized>(
    tx: &mut T,
    key: &[u8],
    owner: u64,
    now: Millis,
    ttl_ms: i64,
) -> Result<Lease, Status> {
    let held = show(tx, key)?.ok_or(Status::NotFound)?;
    if held.owner != owner || !held.is_live(now) {
        return Err(Status::Conflict);
    }
    acquire(tx, key, owner, now, ttl_ms)
}

/// Gives it up. Of another's lease: [`Status::Conflict`]; of none: [`Status::NotFound`].
pub fn release<T: KvTx + ?Sized>(tx: &mut T, key: &[u8], owner: u64) -> Result<(), Status> {
    check_key(key)?;
    let held = show(tx, key)?.ok_or(Status::NotFound)?;
    if held.owner != owner {
        return Err(Status::Conflict);
    }
    tx.delete(Dbi::LEASES, key)?;
    Ok(())
}

/// What lies there, live or not.
pub fn show<T: KvTx + ?Sized>(tx: &mut T, key: &[u8]) -> Result<Option<Lease>, Status> {
    tx.get(Dbi::LEASES, key)?
        .as_deref()
        .map(Lease::decode)
        .transpose()
}

/// Mailbox leases share the database, so their shapes of key are not for programs.
fn check_key(key: &[u8]) -> Result<(), Status> {
    if key.is_empty() || key.len() == InboxKey::LEN || key.starts_with(TIMER_LEASE_PREFIX) {
        return Err(Status::Error(
            "a lease key must not be empty, have 16 bytes or start with timer:".into(),
        ));
    }
    Ok(())
}
