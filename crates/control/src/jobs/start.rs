//! Set-up is done; the clock of the job's timeout begins.

use kiln_model::{Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::heartbeat;

use super::Holder;
use super::advance::{Cause, advance_with};
use crate::Denied;

/// What the runner is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    Continue,
    /// The job has ended without this runner, or was given up: stop it.
    Stop,
}

/// The runner says `running`. Saying it again only shows that it is alive.
pub fn start(tx: &mut dyn Tx, id: i64, holder: Holder, actor: &str) -> Result<Directive, Denied> {
    let mut job = super::lock(tx, id)?;
    holder.check(&job)?;
    match job.life.status {
        Status::Claimed => {
            let (now, wall) = (tx.now(), tx.wall());
            let lease = now + job.ask.timeouts.lease;
            advance_with(tx, &mut job, &Cause::new(Trigger::Start, actor), |life| {
                life.started = Some(wall);
                life.started_tick = Some(now);
                life.lease_tick = Some(lease);
            })?;
            Ok(Directive::Continue)
        }
        Status::Running => {
            let now = tx.now();
            heartbeat::record(tx, id, job.life.epoch, now)?;
            Ok(Directive::Continue)
        }
        Status::Completed
        | Status::Processed
        | Status::Failed
        | Status::Canceled
        | Status::Abandoned => Ok(Directive::Stop),
        Status::Pending => Err(Denied::NotHolder),
    }
}
