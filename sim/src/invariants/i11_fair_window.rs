//! Downtime and clock jumps by themselves never end a job: no timer decides before its time in kernel time, nor before one
//! full lease window after a start; and a job whose assignment was lost is assigned again, not failed as forgotten.

use kiln_model::{Millis, Trigger};
use kiln_store::sql::job::Job;

use super::{View, trigger};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let Some(time) = view.time else { return Ok(()) };
    for (seen, event) in view.after.fresh_events(view.before) {
        let Some(trigger) = trigger(event) else {
            continue;
        };
        let Some(before) = view.before.job(seen.job.id) else {
            continue;
        };
        if trigger == Trigger::Forgotten && before.life.started.is_none() {
            return Err(format!(
                "job {} never ran, and was failed as forgotten",
                before.id
            ));
        }
        let Some(due) = earliest(view, before, trigger) else {
            continue;
        };
        let fair = time.opened + before.ask.timeouts.lease;
        if time.now < due.max(fair) {
            return Err(format!(
                "job {} ended by {} at {}, before {} (the server began at {})",
                before.id,
                event.what,
                time.now,
                due.max(fair),
                time.opened
            ));
        }
    }
    Ok(())
}

/// Before when this trigger must not end the job; nothing for triggers that are no timers.
fn earliest(view: &View<'_>, job: &Job, trigger: Trigger) -> Option<Millis> {
    let (life, times) = (&job.life, &job.ask.timeouts);
    let at = |tick: Option<Millis>, span| Some(tick.unwrap_or(Millis::MAX) + span);
    match trigger {
        Trigger::LostContact => {
            let heard = view.shadow.heard.get(&(job.id, life.epoch)).copied();
            life.lease_tick.max(heard.map(|heard| heard + times.lease))
        }
        Trigger::SetUpDeadline => at(life.claimed_tick, times.set_up),
        Trigger::HardTimeout => at(life.started_tick, times.run + times.grace),
        Trigger::PendingExpiry => at(Some(life.pending_tick), times.pending.unwrap_or_default()),
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
        | Trigger::Retry => None,
    }
}
