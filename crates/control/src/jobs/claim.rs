//! A runner takes a job.

use kiln_model::{Slot, Status, Trigger};
use kiln_store::sql::job::{self, ClaimOrder, Job};
use kiln_store::sql::lane;
use kiln_store::{Bell, DatabaseErrorKind, Error, Tx};

use super::advance::{Cause, advance_with};
use crate::Denied;

/// Who claims, and what the lease is to be called on doors that name leases.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    pub runner: i64,
    /// Which slot of the runner is to hold it.
    pub slot: Slot,
    pub actor: &'a str,
    pub lease_id: Option<&'a str>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claimed {
    /// Leased to the runner now.
    Job(Box<Job>),
    /// There is none for it.
    Nothing,
    /// This job is the first in order, and cannot run beside what the runner's other slots hold. What comes after it is not
    /// taken either: else jobs that share a runner could keep one that does not waiting for ever.
    Aside(i64),
}

impl Claimed {
    pub fn into_job(self) -> Option<Job> {
        match self {
            Self::Job(job) => Some(*job),
            Self::Nothing | Self::Aside(_) => None,
        }
    }
}

/// The first job in claim order (I12) among the lanes this runner serves, now leased to it. There is none for a runner that is
/// being drained.
pub fn claim(tx: &mut dyn Tx, claim: &Claim<'_>) -> Result<Claimed, Denied> {
    let beside = held_beside(tx, claim)?;
    if !beside.is_empty() {
        // Looked at and not locked: others must not pass over a job that is left to them.
        let Some((first, _)) = in_order(tx, claim.runner, job::peek_claimable)?.pop() else {
            return Ok(Claimed::Nothing);
        };
        let job = job::find(tx, first.id)?.ok_or(Denied::Raced)?;
        if !fits(&job, &beside) {
            return Ok(Claimed::Aside(first.id));
        }
    }
    let mut found = in_order(tx, claim.runner, job::first_claimable)?;
    let Some((first, _)) = found.pop() else {
        return Ok(Claimed::Nothing);
    };
    let mut job = super::lock(tx, first.id)?;
    // It may be another than was looked at, which somebody else is taking.
    let is_pending = job.life.status == Status::Pending && job.life.admitted;
    if !is_pending || !fits(&job, &beside) {
        return Err(Denied::Raced);
    }
    let (now, wall) = (tx.now(), tx.wall());
    let lease = now + job.ask.timeouts.lease;
    let cause = Cause::new(Trigger::Claim, claim.actor);
    let outcome = advance_with(tx, &mut job, &cause, |life| {
        life.epoch += i64::from(epoch_grows());
        life.runner = Some(claim.runner);
        life.slot = claim.slot.stored();
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
        Ok(()) => {
            if !tx.skip_locked().is_empty() {
                // Until the commit these are locked as well: whoever passed over them is to look again.
                let left = found.iter().map(|(_, lane)| Bell::Lane(*lane));
                left.for_each(|bell| tx.ring(bell));
            }
            Ok(Claimed::Job(Box::new(job)))
        }
        // Another server took a job with the same limit key at this moment: the unique index says no.
        Err(Denied::Store(Error::Database {
            kind: DatabaseErrorKind::Constraint,
            ..
        })) => Err(Denied::Raced),
        Err(denied) => Err(denied),
    }
}

/// What comes first in each lane of a runner, and in which; the first of them all is last.
fn in_order(
    tx: &mut dyn Tx,
    runner: i64,
    of_lane: fn(&mut dyn Tx, i64) -> Result<Option<ClaimOrder>, Error>,
) -> Result<Vec<(ClaimOrder, i64)>, Denied> {
    let mut found = Vec::new();
    for lane in lane::of_runner(tx, runner)? {
        found.extend(of_lane(tx, lane)?.map(|order| (order, lane)));
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}

/// What the other slots of the runner hold. What this slot holds itself does not count: it has said that it is idle.
fn held_beside(tx: &mut dyn Tx, claim: &Claim<'_>) -> Result<Vec<Job>, Denied> {
    if claim.slot.is_whole() {
        return Ok(Vec::new());
    }
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Guard::Exclusivity) {
        return Ok(Vec::new());
    }
    // Two slots may claim on two servers at once.
    tx.serialize_on(&format!("slots of runner {}", claim.runner))?;
    let mut held = job::held_by(tx, claim.runner)?;
    held.retain(|held| !claim.slot.covers(held.life.slot));
    Ok(held)
}

/// Whether a job may run beside these: all must share.
fn fits(job: &Job, beside: &[Job]) -> bool {
    beside.is_empty() || (job.ask.shared && beside.iter().all(|other| other.ask.shared))
}

#[cfg(not(feature = "sabotage"))]
const fn epoch_grows() -> bool {
    true
}

#[cfg(feature = "sabotage")]
fn epoch_grows() -> bool {
    !crate::sabotage::is_on(crate::sabotage::Guard::EpochGrowth)
}
