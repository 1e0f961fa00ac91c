//! A result arrives.

use kiln_model::{Digest, Kind, Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::{job_live, job_output};
use sha2::{Digest as _, Sha256};

use super::Holder;
use super::advance::{Cause, advance, advance_with};
use crate::Denied;
use crate::outputs::{self, Large};
use crate::tasks::{self, Task};

/// What a job's process wrote, as it is stored, with its digest taken once outside the transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    body: Vec<u8>,
    digest: Digest,
    large: Option<Large>,
}

impl Output {
    pub fn new(body: Vec<u8>) -> Self {
        let digest = Digest::from_hash(&Sha256::digest(&body)).expect("SHA-256 has 32 bytes");
        Self {
            body,
            digest,
            large: None,
        }
    }

    /// The same, with what was uploaded beside it.
    #[must_use]
    pub fn with_large(self, large: Option<Large>) -> Self {
        Self { large, ..self }
    }

    pub const fn digest(&self) -> &Digest {
        &self.digest
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// What became of a delivery. All of them are acknowledged: the runner need not send it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    Accepted,
    /// It was here already.
    Duplicate,
    /// The job ended otherwise, for good.
    Dropped(Status),
}

/// The runner's result. `completed` is committed together with the output (I5); a kernel frame goes on from there.
pub fn complete(
    tx: &mut dyn Tx,
    id: i64,
    holder: Holder,
    output: &Output,
    actor: &str,
) -> Result<Delivered, Denied> {
    let mut job = super::lock(tx, id)?;
    holder.check(&job)?;
    match job.life.status {
        Status::Claimed => {
            // Its `running` was lost with a socket: both steps now.
            let (now, wall) = (tx.now(), tx.wall());
            advance_with(tx, &mut job, &Cause::new(Trigger::Start, actor), |life| {
                life.started = Some(wall);
                life.started_tick = Some(now);
            })?;
            accept(tx, &mut job, output, Trigger::Complete, actor)
        }
        Status::Running => accept(tx, &mut job, output, Trigger::Complete, actor),
        Status::Failed if job.life.cause.is_some_and(Trigger::is_lost_contact) => {
            accept(tx, &mut job, output, Trigger::LateResult, actor)
        }
        Status::Completed | Status::Processed => Ok(Delivered::Duplicate),
        status @ (Status::Failed | Status::Canceled | Status::Abandoned | Status::Pending) => {
            Ok(Delivered::Dropped(status))
        }
    }
}

fn accept(
    tx: &mut dyn Tx,
    job: &mut Job,
    output: &Output,
    trigger: Trigger,
    actor: &str,
) -> Result<Delivered, Denied> {
    let published = publishes(tx, job)?;
    let cause = Cause::new(trigger, actor);
    let wall = tx.wall();
    advance_with(tx, job, &cause, |life| {
        life.published = published;
        if trigger == Trigger::LateResult {
            life.ended = Some(wall);
            life.cause = Some(trigger);
            life.message = None;
        }
    })?;
    if let Some(large) = &output.large {
        outputs::accept(tx, job, large)?;
    }
    job_output::replace(tx, job.id, job.life.epoch, (&output.digest, &output.body))?;
    job_live::forget(tx, job.id)?;
    if job.ask.kind == Kind::Bench {
        tasks::send(
            tx,
            &Task::Process {
                job: job.id,
                epoch: job.life.epoch,
            },
        )?;
    }
    Ok(Delivered::Accepted)
}

/// Of a chain of automatic retries the first result to commit is the published one (I6); others stay as evidence.
fn publishes(tx: &mut dyn Tx, job: &Job) -> Result<bool, Denied> {
    match job.ask.root {
        Some(root) => {
            tx.serialize_on(&format!("chain:{root}"))?;
            Ok(!job::chain_is_published(tx, root)?)
        }
        None => Ok(true),
    }
}

/// The output of a job that failed or was canceled is evidence, and never replaces a result.
pub(super) fn keep_evidence(tx: &mut dyn Tx, job: &Job, output: &Output) -> Result<(), Denied> {
    if let Some(large) = &output.large {
        outputs::accept(tx, job, large)?;
    }
    let may_rest = job.ask.kind == Kind::Bench;
    let body = (&output.digest, output.body());
    job_output::keep(tx, job.id, job.life.epoch, body, may_rest)?;
    job_live::forget(tx, job.id)?;
    Ok(())
}

/// Ends a job as failed with what it wrote until then.
pub(super) fn end_failed(
    tx: &mut dyn Tx,
    job: &mut Job,
    output: Option<&Output>,
    cause: &Cause<'_>,
) -> Result<(), Denied> {
    if let Some(output) = output {
        keep_evidence(tx, job, output)?;
    }
    advance(tx, job, cause)
}
