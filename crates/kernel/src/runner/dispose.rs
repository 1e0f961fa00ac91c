//! What becomes of a frame that failed: tried again, or given up.

use kiln_model::Millis;

use super::apply::Rules;
use super::failures::Failures;
use super::job::{Disposition, Job, Outcome, Ready, Settled};
use crate::keys::InboxKey;
use crate::records::Lease;
use crate::slot::Slot;
use crate::{Dbi, KvTx, MessageView, Status, dead_letters, inbox};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    Removed,
    NotOurs,
}

/// Removes lease and row if both are exactly what was claimed.
pub(super) fn remove<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    token: &Lease,
    frame: &[u8],
) -> Result<Removal, Status> {
    let ours = tx.delete_matching(Dbi::LEASES, slot.lease_key().as_slice(), &token.to_bytes())?
        && tx.delete_matching(slot.dbi(), &slot.key(), frame)?;
    Ok(if ours {
        Removal::Removed
    } else {
        Removal::NotOurs
    })
}

/// Our lease on a row that somebody removed would stay for ever.
pub(super) fn drop_orphan_lease<T: KvTx + ?Sized>(
    tx: &mut T,
    slot: Slot,
    token: &Lease,
) -> Result<(), Status> {
    if tx.get(slot.dbi(), &slot.key())?.is_none() {
        tx.delete_matching(Dbi::LEASES, slot.lease_key().as_slice(), &token.to_bytes())?;
    }
    Ok(())
}

/// Settles a failed job in the transaction in which it failed.
pub(super) fn failed<T: KvTx + ?Sized, P>(
    tx: &mut T,
    rules: &Rules,
    failures: &mut Failures,
    job: &Job<P>,
    token: &Lease,
    failure: Status,
) -> Result<Outcome, Status> {
    tx.begin_nested()?;
    let quiet = failure.is_retryable() || matches!(job.ready, Ready::Undecodable(_));
    let mut returned = (!quiet).then(|| failure.clone());
    let disposition = match decide(tx, rules, failures, job, token, &failure) {
        Ok(Some(disposition)) => {
            tx.commit_nested()?;
            disposition
        }
        Ok(None) => {
            tx.rollback_nested()?;
            drop_orphan_lease(tx, job.claimed.slot, token)?;
            return Ok(Outcome::Lost);
        }
        Err(stuck) => {
            // No place at the tail, a counter at its end. The row stays and the claim ends, so that nothing hangs on
            // a lease; whoever polls is told.
            tx.rollback_nested()?;
            failures.distrust();
            let lease_key = job.claimed.slot.lease_key();
            tx.delete_matching(Dbi::LEASES, lease_key.as_slice(), &token.to_bytes())?;
            returned.get_or_insert(stuck);
            Disposition::Kept
        }
    };
    Ok(Outcome::Settled(Settled {
        failure: Some(failure),
        returned,
        disposition,
    }))
}

/// Nothing when the claim is not ours any more.
fn decide<T: KvTx + ?Sized, P>(
    tx: &mut T,
    rules: &Rules,
    failures: &mut Failures,
    job: &Job<P>,
    token: &Lease,
    failure: &Status,
) -> Result<Option<Disposition>, Status> {
    let claimed = &job.claimed;
    if remove(tx, claimed.slot, token, &claimed.frame)? == Removal::NotOurs {
        return Ok(None);
    }
    let Ok(message) = MessageView::decode(&claimed.frame) else {
        return give_up(tx, rules, claimed.slot, failure, 0, &claimed.frame).map(Some);
    };
    let count = failures.add(tx, message.id)?;
    if is_spent(rules, count) {
        failures.clear(tx, message.id)?;
        return give_up(tx, rules, claimed.slot, failure, count, &claimed.frame).map(Some);
    }
    let slot = put_back(tx, rules, claimed.slot, &claimed.frame)?;
    rest(tx, rules, slot, count)?;
    Ok(Some(Disposition::Requeued {
        seq: slot.seq(),
        failures: count,
    }))
}

fn is_spent(rules: &Rules, count: u32) -> bool {
    #[cfg(feature = "sabotage")]
    if rules.ignore_budget {
        return false;
    }
    count >= rules.policy.retry_budget_max
}

fn give_up<T: KvTx + ?Sized>(
    tx: &mut T,
    rules: &Rules,
    slot: Slot,
    failure: &Status,
    failures: u32,
    frame: &[u8],
) -> Result<Disposition, Status> {
    let InboxKey { seq, .. } =
        dead_letters::store(tx, slot, rules.worker, failure, failures, frame)?;
    Ok(Disposition::DeadLettered { seq, failures })
}

/// An inbox row goes to the tail. A timer stays where it is: its place is its due time.
fn put_back<T: KvTx + ?Sized>(
    tx: &mut T,
    rules: &Rules,
    slot: Slot,
    frame: &[u8],
) -> Result<Slot, Status> {
    match slot {
        Slot::Timer(key) => {
            tx.insert(Dbi::TIMERS, &key.to_bytes(), frame)?;
            Ok(slot)
        }
        Slot::Inbox(key) => {
            // The row must not lie at its old place any more, and yet count for where the tail is.
            let after_itself = key.seq.checked_add(1).ok_or(Status::Full)?;
            let tries = rules.policy.requeue_max_attempts;
            inbox::append_behind(tx, key.worker, after_itself, frame, tries).map(Slot::Inbox)
        }
    }
}

/// With a backoff, a lease of ours keeps everybody away until the frame has rested.
fn rest<T: KvTx + ?Sized>(
    tx: &mut T,
    rules: &Rules,
    slot: Slot,
    failures: u32,
) -> Result<(), Status> {
    let backoff = rules.policy.backoff_ms(failures);
    if backoff == 0 {
        return Ok(());
    }
    let deadline = Millis(rules.now.0.saturating_add(backoff));
    let lease = Lease {
        owner: rules.owner,
        deadline,
        attempts: 0,
    };
    tx.put(Dbi::LEASES, slot.lease_key().as_slice(), &lease.to_bytes())
}
