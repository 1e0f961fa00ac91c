//! The runner says that it failed.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;

use super::Holder;
use super::advance::Cause;
use super::complete::{Delivered, Output, end_failed, keep_evidence};
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
        // What it wrote until it was stopped or given up is kept: it is evidence, and changes nothing else.
        status @ (Status::Failed | Status::Canceled) => {
            if let Some(output) = output {
                keep_evidence(tx, &job, output)?;
            }
            Ok(if status == Status::Failed {
                Delivered::Duplicate
            } else {
                Delivered::Dropped(status)
            })
        }
        status @ (Status::Completed | Status::Processed | Status::Abandoned | Status::Pending) => {
            Ok(Delivered::Dropped(status))
        }
    }
}
