//! Keeping claims alive while their frames are prepared.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiln_model::Millis;

use super::job::Claimed;
use crate::records::Lease;
use crate::slot::Slot;
use crate::{Kv, Status, mailbox};

/// The claims of the pass under way. The lock is held while they are renewed, so that the tokens taken for the commit
/// are always the newest.
#[derive(Debug, Default)]
pub(super) struct Held {
    claims: Mutex<Claims>,
}

#[derive(Debug, Default)]
struct Claims {
    tokens: Vec<(Slot, Lease)>,
    ttl_ms: i64,
    renew_at: Millis,
}

impl Held {
    pub(super) fn hold(&self, claimed: &[Claimed], now: Millis, ttl_ms: i64) {
        let mut claims = self.lock();
        claims.tokens.clear();
        claims
            .tokens
            .extend(claimed.iter().map(|claim| (claim.slot, claim.token)));
        claims.ttl_ms = ttl_ms;
        claims.renew_at = renew_at(now, ttl_ms);
    }

    /// The tokens as they are now; from here on nothing is renewed.
    pub(super) fn take(&self) -> Vec<(Slot, Lease)> {
        std::mem::take(&mut self.lock().tokens)
    }

    /// Renews every claim when half of its time is gone; tells how many were.
    pub(super) fn renew<K: Kv>(&self, kv: &K, now: Millis) -> Result<usize, Status> {
        let mut claims = self.lock();
        if claims.tokens.is_empty() || now < claims.renew_at {
            return Ok(0);
        }
        let deadline = Millis(now.0.saturating_add(claims.ttl_ms));
        let old = claims.tokens.clone();
        let renewed = kv.write(move |tx| {
            let renew = |(slot, token): &(Slot, Lease)| {
                match mailbox::renew(tx, *slot, token, deadline) {
                    Ok(renewed) => Ok((*slot, renewed, true)),
                    // Lost to another: the commit will find out in the same way.
                    Err(Status::Conflict) => Ok((*slot, *token, false)),
                    Err(other) => Err(other),
                }
            };
            old.iter().map(renew).collect::<Result<Vec<_>, Status>>()
        })?;
        let count = renewed.iter().filter(|(_, _, kept)| *kept).count();
        claims.tokens = renewed
            .into_iter()
            .map(|(slot, token, _)| (slot, token))
            .collect();
        claims.renew_at = renew_at(now, claims.ttl_ms);
        Ok(count)
    }

    fn lock(&self) -> MutexGuard<'_, Claims> {
        self.claims.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Renews the claims of a runner from outside, on a thread of its own, for handlers whose first half may block for
/// longer than a lease without calling [`crate::Preparing::keep_alive`].
#[derive(Clone, Debug)]
pub struct LeaseKeeper<K> {
    pub(super) kv: K,
    pub(super) held: Arc<Held>,
}

impl<K: Kv> LeaseKeeper<K> {
    /// Renews what is half through its time; tells how many claims that were. Call it a few times per lease.
    pub fn renew(&self, now: Millis) -> Result<usize, Status> {
        self.held.renew(&self.kv, now)
    }
}

fn renew_at(now: Millis, ttl_ms: i64) -> Millis {
    Millis(now.0.saturating_add(ttl_ms / 2))
}
