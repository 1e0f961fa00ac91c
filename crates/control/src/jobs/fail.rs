//! The runner says that it failed.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;

use super::Holder;
use super::advance::Cause;
use super::complete::{Delivered, Output, end_failed};
use crate::Denied;

/// A failure the runner reports: final for a bench job, a matter of policy for the others.
pub fn fail(
    tx: &mut dyn Tx,
    id: i64,
    holder: Holder,
    output: Option<&Output>,
    message: &str,
    actor: &str,
) -> Result<Delivered, Denied> {
    let mut job = super::lock(tx, id)?;
    holder.check(&job)?;
    match job.life.status {
        Status::Claimed | Status::Running => {
            let cause = Cause {
                trigger: Trigger::Fail,
                actor,
                message: Some(message),
            };
            end_failed(tx, &mut job, output, &cause)?;
            Ok(Delivered::Accepted)
        }
        Status::Failed => Ok(Delivered::Duplicate),
        status @ (Status::Completed
        | Status::Processed
        | Status::Canceled
        | Status::Abandoned
        | Status::Pending) => Ok(Delivered::Dropped(status)),
    }
}
