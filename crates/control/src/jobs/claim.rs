//! A runner takes a job.

use kiln_model::{Status, Trigger};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::lane;
use kiln_store::{DatabaseErrorKind, Error, Tx};

use super::advance::{Cause, advance_with};
use crate::Denied;

/// Who claims, and what the lease is to be called on doors that name leases.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub runner: i64,
    pub actor: &'a str,
    pub lease_id: Option<&'a str>,
}

/// The first job in claim order (I12) among the lanes this runner serves, now leased to it; `None` when there is none, and when
/// the runner is being drained.
pub fn claim(tx: &mut dyn Tx, claim: &Claim<'_>) -> Result<Option<Job>, Denied> {
    let mut first = None;
    for lane in lane::of_runner(tx, claim.runner)? {
        first = first
            .into_iter()
            .chain(job::first_claimable(tx, lane)?)
            .min();
    }
    let Some(order) = first else { return Ok(None) };
    let mut job = super::lock(tx, order.id)?;
    if job.life.status != Status::Pending || !job.life.admitted {
        return Err(Denied::Raced);
    }
    let (now, wall) = (tx.now(), tx.wall());
    let lease = now + job.ask.timeouts.lease;
    let cause = Cause::new(Trigger::Claim, claim.actor);
    let outcome = advance_with(tx, &mut job, &cause, |life| {
        life.epoch += i64::from(epoch_grows());
        life.runner = Some(claim.runner);
        life.lease_id = claim.lease_id.map(str::to_owned);
        life.claimed = Some(wall);
        life.claimed_tick = Some(now);
        life.lease_tick = Some(lease);
        life.started = None;
        life.started_tick = None;
        life.ended = None;
        life.cause = None;
        life.message = None;
    });
    match outcome {
        Ok(()) => Ok(Some(job)),
        // Another server took a job with the same limit key at this moment: the unique index says no.
        Err(Denied::Store(Error::Database {
            kind: DatabaseErrorKind::Constraint,
            ..
        })) => Err(Denied::Raced),
        Err(denied) => Err(denied),
    }
}

#[cfg(not(feature = "sabotage"))]
const fn epoch_grows() -> bool {
    true
}

#[cfg(feature = "sabotage")]
fn epoch_grows() -> bool {
    !crate::sabotage::is_on(crate::sabotage::Guard::EpochGrowth)
}
