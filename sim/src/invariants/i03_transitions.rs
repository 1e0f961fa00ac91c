//! Only listed transitions occur, each with its event; a late result comes from the runner and epoch that was lost.

use kiln_model::{Status, TRANSITIONS, Trigger};
use kiln_store::sql::job_event::JobEvent;

use super::{View, trigger};
use crate::snapshot::Seen;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for (seen, event) in view.after.fresh_events(view.before) {
        is_listed(seen, event).map_err(|why| {
            format!(
                "event {} of job {} ({}): {why}",
                event.number, seen.job.id, event.what
            )
        })?;
    }
    for seen in view.after.jobs.values() {
        let (job, last) = (&seen.job, seen.events.last());
        let number = last.map_or(0, |event| event.number);
        let to = last.and_then(|event| event.to);
        let numbered = (1..).zip(&seen.events).all(|(n, event)| event.number == n);
        if to != Some(job.life.status) || number != job.life.events || !numbered {
            return Err(format!(
                "job {} is {} with {} events, and its last event is number {number} to {to:?}",
                job.id, job.life.status, job.life.events
            ));
        }
    }
    Ok(())
}

fn is_listed(seen: &Seen, event: &JobEvent) -> Result<(), String> {
    let earlier = seen
        .events
        .iter()
        .rfind(|other| other.number < event.number);
    let Some(trigger) = trigger(event) else {
        let first = earlier.is_none() && event.what == "submit";
        return if first && event.to == Some(Status::Pending) {
            Ok(())
        } else {
            Err("it is not known".to_owned())
        };
    };
    let (Some(from), Some(to)) = (event.from, event.to) else {
        return Err("it has no statuses".to_owned());
    };
    if earlier.and_then(|event| event.to) != Some(from) {
        return Err(format!("the job was not {from}"));
    }
    let listed = TRANSITIONS.iter().any(|row| {
        (row.from, row.to, row.trigger) == (from, to, trigger)
            && row.kinds.contains(&seen.job.ask.kind)
    });
    if !listed {
        return Err(format!(
            "no {} job goes from {from} to {to}",
            seen.job.ask.kind.name()
        ));
    }
    if trigger == Trigger::LateResult {
        return is_the_lost_one(seen, event, earlier);
    }
    Ok(())
}

fn is_the_lost_one(
    seen: &Seen,
    event: &JobEvent,
    earlier: Option<&JobEvent>,
) -> Result<(), String> {
    let lost = earlier
        .and_then(trigger)
        .is_some_and(Trigger::is_lost_contact);
    let claimed_by = seen
        .events
        .iter()
        .rfind(|other| trigger(other) == Some(Trigger::Claim))
        .map(|claim| (claim.epoch, claim.actor.as_str()));
    if lost && claimed_by == Some((event.epoch, event.actor.as_str())) {
        return Ok(());
    }
    Err(format!(
        "epoch {} of {} was not lost, or is not the last",
        event.epoch, event.actor
    ))
}
