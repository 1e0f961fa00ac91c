//! A job's life, one file per thing that can happen to it.
//!
//! Every function takes a transaction and does its whole work in it: the status, the event, the timer, the counts and
//! the frame that follows commit together or not at all. The door a job came through is never asked for, only its
//! [`Kind`](kiln_model::Kind) in the transition table and its policies.

mod abandon;
mod admission;
mod advance;
mod cancel;
mod claim;
mod complete;
pub mod deadline;
mod fail;
mod lift;
mod process;
mod ready;
mod retry;
mod start;
mod submit;
#[cfg(test)]
mod tests;
mod waiting;

pub use abandon::abandon;
pub use cancel::{Canceled, cancel, runner_canceled};
pub use claim::{Claim, Claimed, claim};
pub use complete::{Delivered, Output, complete};
pub use fail::fail;
pub use lift::lift;
pub(crate) use process::put_to_use;
pub use process::{process, refuse_hand_off};
pub use ready::{Assigned, ready};
pub use retry::retry;
pub use start::{Directive, start};
pub use submit::submit;
pub use waiting::waiting;

use kiln_store::Tx;
use kiln_store::sql::job::{self, Job};

use crate::Denied;

/// Who speaks about a job: a runner, and the epoch it was given if its words carry one. The words of the bench channel do
/// not, and mean the job's current epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    pub runner: i64,
    pub epoch: Option<i64>,
}

impl Holder {
    /// Fencing (I2): a word counts only if it comes from the holder of the current epoch.
    fn check(self, job: &Job) -> Result<(), Denied> {
        #[cfg(feature = "sabotage")]
        if crate::sabotage::is_on(crate::sabotage::Guard::Fencing) {
            return Ok(());
        }
        let same_epoch = self.epoch.is_none_or(|epoch| epoch == job.life.epoch);
        if job.life.runner == Some(self.runner) && same_epoch {
            return Ok(());
        }
        Err(Denied::NotHolder)
    }
}

fn lock(tx: &mut dyn Tx, id: i64) -> Result<Job, Denied> {
    job::lock(tx, id)?.ok_or(Denied::NotFound("job"))
}
