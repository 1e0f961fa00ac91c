//! The times that a job's life depends on. Each job has one kernel timer, at its next deadline; when it fires, the truth is
//! read again and the job is ended, or the timer moved.

use std::time::Duration;

use kiln_kernel::TimerKey;
use kiln_model::{Millis, Status, Trigger};
use kiln_store::Tx;
use kiln_store::sql::heartbeat;
use kiln_store::sql::job::{self, Job};

use super::advance::{Cause, advance, move_timer};
use crate::Denied;

/// The next time at which something about the job may have to be decided, as far as its row tells.
pub(super) fn next(job: &Job) -> Option<Millis> {
    let heard = job.life.lease_tick;
    deadlines(job, heard).map(|(due, _)| due).min()
}

/// The timer of a job fired.
///
/// `opened` is when this server began. Until one lease window later nothing is decided (I11): runners could not be heard
/// while nobody listened, and a result that arrives in that window wins.
pub fn fire(
    tx: &mut dyn Tx,
    id: i64,
    fired: Option<TimerKey>,
    opened: Millis,
) -> Result<Option<Trigger>, Denied> {
    let Some(mut job) = job::lock(tx, id)? else {
        return Ok(None);
    };
    if !is_current(&job, fired) {
        return Ok(None);
    }
    // The kernel removes the timer that fired; nobody is to cancel it.
    job.life.timer = None;
    let now = tx.now();
    let alive = heartbeat::last(tx, id, job.life.epoch)?.map(|tick| tick + job.ask.timeouts.lease);
    let heard = job.life.lease_tick.max(alive);
    let fair = opened + job.ask.timeouts.lease;
    // The order of `deadlines` decides between two that have passed: a job that ran too long is canceled, not lost.
    let passed = deadlines(&job, heard).find(|(due, _)| *due <= now && fair <= now);
    let Some((_, trigger)) = passed else {
        let due = deadlines(&job, heard).map(|(due, _)| due).min();
        move_timer(tx, &mut job, due.map(|due| due.max(fair)))?;
        return Ok(None);
    };
    let cause = Cause {
        trigger,
        actor: "server",
        message: Some(reason(trigger)),
    };
    advance(tx, &mut job, &cause)?;
    Ok(Some(trigger))
}

/// Whether the timer that fired is the one the job waits for, and not one it has replaced since.
fn is_current(job: &Job, fired: Option<TimerKey>) -> bool {
    let waits_for = job
        .life
        .timer
        .map(|(due, seq)| (due, u64::try_from(seq).ok()));
    waits_for.is_some() && waits_for == fired.map(|key| (key.due, Some(key.seq)))
}

/// Every deadline of a job in its status; of two that have passed the first one counts.
fn deadlines(job: &Job, heard: Option<Millis>) -> impl Iterator<Item = (Millis, Trigger)> {
    let (life, times) = (&job.life, &job.ask.timeouts);
    let at = |start: Option<Millis>, span: Duration| start.map(|start| start + span);
    let (first, second) = match life.status {
        Status::Pending => (
            times
                .pending
                .map(|span| (life.pending_tick + span, Trigger::PendingExpiry)),
            None,
        ),
        Status::Claimed => (
            at(life.claimed_tick, times.set_up).map(|due| (due, Trigger::SetUpDeadline)),
            heard.map(|due| (due, Trigger::LostContact)),
        ),
        Status::Running => (
            at(life.started_tick, times.run + times.grace).map(|due| (due, Trigger::HardTimeout)),
            heard.map(|due| (due, Trigger::LostContact)),
        ),
        Status::Completed
        | Status::Processed
        | Status::Failed
        | Status::Canceled
        | Status::Abandoned => (None, None),
    };
    first.into_iter().chain(second)
}

const fn reason(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::LostContact => "contact with the runner was lost",
        Trigger::SetUpDeadline => "the runner took too long to set the job up",
        Trigger::HardTimeout => "the job ran longer than its timeout and grace period",
        Trigger::PendingExpiry => "no runner took the job in time",
        Trigger::Claim
        | Trigger::Start
        | Trigger::Complete
        | Trigger::Fail
        | Trigger::RunnerCancel
        | Trigger::UserCancel
        | Trigger::Forgotten
        | Trigger::Process
        | Trigger::HandOffRefused
        | Trigger::LateResult
        | Trigger::SessionAbandon
        | Trigger::Retry => "",
    }
}
