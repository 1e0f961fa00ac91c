//! A runner that is idle asks for work.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::heartbeat;
use kiln_store::sql::job::{self, Job};

use super::advance::{Cause, advance};
use super::claim::{Claim, claim};
use crate::Denied;

/// What an idle runner is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assigned {
    /// A job that was just claimed for it.
    New(Job),
    /// A job it holds already and never began: the same lease, renewed.
    Again(Job),
}

impl Assigned {
    pub fn into_job(self) -> Job {
        match self {
            Self::New(job) | Self::Again(job) => job,
        }
    }
}

/// The runner says that it is idle. A job it holds and never began is given to it again: that the word which assigned
/// it was lost is no fault of the job's (I11). What it was running it has forgotten: that is failed as lost, and a real
/// result may still override it. Otherwise it is given the next job in order.
pub fn ready(tx: &mut dyn Tx, asks: &Claim<'_>) -> Result<Option<Assigned>, Denied> {
    let mut again = None;
    for held in job::held_by(tx, asks.runner)? {
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
    let Some(job) = again else {
        return Ok(claim(tx, asks)?.map(Assigned::New));
    };
    let now = tx.now();
    heartbeat::record(tx, job.id, job.life.epoch, now)?;
    Ok(Some(Assigned::Again(job)))
}

fn forget(tx: &mut dyn Tx, job: &mut Job, actor: &str) -> Result<(), Denied> {
    let cause = Cause {
        trigger: Trigger::Forgotten,
        actor,
        message: Some("the runner asked for new work while it ran this job"),
    };
    advance(tx, job, &cause)
}
