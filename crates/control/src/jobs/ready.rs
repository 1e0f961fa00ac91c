//! A runner that is idle asks for work.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::heartbeat;
use kiln_store::sql::job::{self, Job};

use super::advance::{Cause, advance};
use super::claim::{Claim, Claimed, claim};
use crate::Denied;

/// What an idle runner is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// A job that was just claimed for it.
    New(Box<Job>),
    /// A job it holds already and never began: the same lease, renewed.
    Again(Box<Job>),
    Nothing,
    /// Nothing, as long as this job comes first and other slots of the runner are busy.
    Aside(i64),
}

impl Assigned {
    pub fn into_job(self) -> Option<Job> {
        match self {
            Self::New(job) | Self::Again(job) => Some(*job),
            Self::Nothing | Self::Aside(_) => None,
        }
    }
}

/// The runner says that it, or one slot of it, is idle. What its other slots hold is none of this word's business. A job it holds and never began is given to it again: that the word which assigned
/// it was lost is no fault of the job's (I11). What it was running it has forgotten: that is failed as lost, and a real
/// result may still override it. Otherwise it is given the next job in order.
pub fn ready(tx: &mut dyn Tx, asks: &Claim<'_>) -> Result<Assigned, Denied> {
    let mut again = None;
    let held = job::held_by(tx, asks.runner)?;
    for held in held.iter().filter(|held| asks.slot.covers(held.life.slot)) {
        let mut held = super::lock(tx, held.id)?;
        match held.life.status {
            Status::Claimed => again = again.or(Some(held)),
            Status::Running => forget(tx, &mut held, asks.actor)?,
            Status::Pending
            | Status::Completed
            | Status::Processed
            | Status::Failed
            | Status::Canceled
            | Status::Abandoned => {}
        }
    }
    let Some(mut job) = again else {
        return Ok(match claim(tx, asks)? {
            Claimed::Job(job) => Assigned::New(job),
            Claimed::Nothing => Assigned::Nothing,
            Claimed::Aside(first) => Assigned::Aside(first),
        });
    };
    if job.life.slot != asks.slot.stored() {
        // The runner was started again with another number of slots.
        job.life.slot = asks.slot.stored();
        job::set_slot(tx, job.id, job.life.slot)?;
    }
    let now = tx.now();
    heartbeat::record(tx, job.id, job.life.epoch, now)?;
    Ok(Assigned::Again(Box::new(job)))
}

fn forget(tx: &mut dyn Tx, job: &mut Job, actor: &str) -> Result<(), Denied> {
    let cause = Cause {
        trigger: Trigger::Forgotten,
        actor,
        message: Some("the runner asked for new work while it ran this job"),
    };
    advance(tx, job, &cause)
}
