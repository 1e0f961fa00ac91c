//! Somebody does not want the job any more.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;

use super::Holder;
use super::advance::{Cause, advance};
use super::complete::{Output, keep_evidence};
use crate::Denied;

/// How a cancel came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Canceled {
    Now,
    Already,
}

/// Cancels a job that has not ended. Cancel wins or loses once (I8): after `completed` it is refused.
pub fn cancel(tx: &mut dyn Tx, id: i64, actor: &str) -> Result<Canceled, Denied> {
    let mut job = super::lock(tx, id)?;
    match job.life.status {
        Status::Pending | Status::Claimed | Status::Running => {
            advance(tx, &mut job, &Cause::new(Trigger::UserCancel, actor))?;
            Ok(Canceled::Now)
        }
        Status::Canceled => Ok(Canceled::Already),
        status @ (Status::Completed | Status::Processed | Status::Failed | Status::Abandoned) => {
            Err(Denied::Ended(status))
        }
    }
}

/// The runner says that it stopped: the answer to a cancel, or its own decision. What the job wrote until then is kept.
pub fn runner_canceled(
    tx: &mut dyn Tx,
    id: i64,
    holder: Holder,
    output: Option<&Output>,
    actor: &str,
) -> Result<Canceled, Denied> {
    let mut job = super::lock(tx, id)?;
    holder.check(&job)?;
    let canceled = if job.life.status.is_in_flight() {
        advance(tx, &mut job, &Cause::new(Trigger::RunnerCancel, actor))?;
        Canceled::Now
    } else {
        Canceled::Already
    };
    if let (Status::Canceled, Some(output)) = (job.life.status, output) {
        keep_evidence(tx, &job, output)?;
    }
    Ok(canceled)
}
