//! What happens after a failure: a policy value decides, never the door.

use kiln_model::{Entropy, Retry, RetryDecision, RuntimeJobId, Status, Trigger};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::queue::{self, QueueState};
use kiln_store::{Bell, Tx};
use sha2::{Digest as _, Sha256};

use super::advance::{Cause, advance_with};
use super::submit;
use crate::{Denied, session};

/// The policy, applied in the transaction in which the job failed.
pub(super) fn consider(tx: &mut dyn Tx, job: &mut Job, cause: Trigger) -> Result<(), Denied> {
    match job.ask.retry.after(cause, job.life.retry_count) {
        RetryDecision::Nothing => Ok(()),
        RetryDecision::Requeue if session::is_abandoned(tx)? => Ok(()),
        RetryDecision::Requeue => requeue(tx, job, "policy"),
        RetryDecision::Resubmit => resubmit(tx, job),
    }
}

/// A person sends a failed or abandoned action back to its queue; the same limit holds.
pub fn retry(tx: &mut dyn Tx, id: i64, actor: &str) -> Result<Job, Denied> {
    let mut job = super::lock(tx, id)?;
    let Retry::SameJob { max } = job.ask.retry else {
        return Err(Denied::Illegal {
            from: job.life.status,
            trigger: Trigger::Retry,
        });
    };
    if !matches!(job.life.status, Status::Failed | Status::Abandoned) {
        return Err(Denied::Illegal {
            from: job.life.status,
            trigger: Trigger::Retry,
        });
    }
    if job.life.retry_count >= max {
        return Err(Denied::RetriesSpent(max));
    }
    if let Some(id) = job.ask.queue
        && queue::find(tx, id)?.is_some_and(|queue| queue.state == QueueState::Canceled)
    {
        return Err(Denied::QueueClosed);
    }
    requeue(tx, &mut job, actor)?;
    Ok(job)
}

fn requeue(tx: &mut dyn Tx, job: &mut Job, actor: &str) -> Result<(), Denied> {
    let now = tx.now();
    let admitted = job.ask.limit_key.is_none();
    advance_with(tx, job, &Cause::new(Trigger::Retry, actor), |life| {
        life.retry_count += 1;
        life.admitted = admitted;
        life.pending_tick = now;
        life.runner = None;
        life.slot = None;
        life.lease_id = None;
        life.lease_tick = None;
        life.claimed_tick = None;
        life.started_tick = None;
        life.claimed = None;
        life.started = None;
        life.ended = None;
    })?;
    tx.ring(Bell::Lane(job.ask.lane));
    Ok(())
}

/// A row of its own that names the one it continues.
fn resubmit(tx: &mut dyn Tx, job: &mut Job) -> Result<(), Denied> {
    let root = job.ask.root.unwrap_or(job.id);
    if job.ask.root.is_none() {
        job::set_root(tx, job.id, root)?;
        job.ask.root = Some(root);
    }
    let mut ask = job.ask.clone();
    ask.created = tx.wall();
    ask.public_id = job
        .ask
        .public_id
        .as_ref()
        .map(|parent| RuntimeJobId::mint(ask.created, &DerivedFrom(parent)).to_string());
    ask.retry_of = Some(job.id);
    submit::enter(tx, ask, job.life.retry_count + 1, "policy")?;
    Ok(())
}

/// A transaction may run again and must then say the same: the new id's randomness comes from the id it continues.
#[derive(Debug)]
struct DerivedFrom<'a>(&'a str);

impl Entropy for DerivedFrom<'_> {
    fn fill(&self, bytes: &mut [u8]) {
        let hash = Sha256::digest(format!("retry of {}", self.0));
        for (byte, random) in bytes.iter_mut().zip(hash) {
            *byte = random;
        }
    }
}
