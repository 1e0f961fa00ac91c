//! A stored result is put to use.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::job::Job;

use super::advance::{Cause, advance};
use crate::Denied;

/// `completed → processed`: the report was made, the client has its result, ingest has acknowledged. Doing it again
/// changes nothing; tells whether this was the first time.
pub fn process(tx: &mut dyn Tx, id: i64, epoch: i64, actor: &str) -> Result<bool, Denied> {
    match completed(tx, id, epoch)? {
        Some(mut job) => {
            put_to_use(tx, &mut job, actor)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// The same for a job that this transaction has locked and found completed.
pub(crate) fn put_to_use(tx: &mut dyn Tx, job: &mut Job, actor: &str) -> Result<(), Denied> {
    advance(tx, job, &Cause::new(Trigger::Process, actor))
}

/// Ingest refused the result for good (runtime only).
pub fn refuse_hand_off(
    tx: &mut dyn Tx,
    id: i64,
    epoch: i64,
    message: &str,
    actor: &str,
) -> Result<bool, Denied> {
    match completed(tx, id, epoch)? {
        Some(mut job) => {
            let cause = Cause {
                trigger: Trigger::HandOffRefused,
                actor,
                message: Some(message),
            };
            advance(tx, &mut job, &cause)?;
            Ok(true)
        }
        None => Ok(false),
    }
}

/// The job, if it is completed in this epoch.
fn completed(tx: &mut dyn Tx, id: i64, epoch: i64) -> Result<Option<Job>, Denied> {
    let job = super::lock(tx, id)?;
    Ok((job.life.status == Status::Completed && job.life.epoch == epoch).then_some(job))
}
