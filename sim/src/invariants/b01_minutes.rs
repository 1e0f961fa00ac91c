//! A job owes every minute it has begun, each once; one that never ran owes nothing; and all of it is told in the end.

use std::collections::BTreeSet;
use std::time::Duration;

use kiln_model::{Millis, Status};
use kiln_store::sql::job::Job;

use super::View;
use crate::outcome::Violation;
use crate::snapshot::Snapshot;
use crate::till::SimTill;

const MINUTE: Duration = Duration::from_mins(1);

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for job in view.after.all_jobs() {
        check_job(view, job)?;
    }
    Ok(())
}

fn check_job(view: &View<'_>, job: &Job) -> Result<(), String> {
    let none = Vec::new();
    let owed = view.after.minutes.get(&job.id).unwrap_or(&none);
    if !is_counted(owed) {
        return Err(format!("job {} owes the minutes {owed:?}", job.id));
    }
    let started = job
        .life
        .started_tick
        .filter(|_| job.ask.organization.is_some());
    let Some(started) = started else {
        return if owed.is_empty() {
            Ok(())
        } else {
            Err(format!("job {} never ran and owes {owed:?}", job.id))
        };
    };
    if owed.is_empty() {
        return Err(format!("job {} ran and owes nothing", job.id));
    }
    let Some(time) = view.time else { return Ok(()) };
    let begun = begun(started, time.now);
    if owed.len() > begun || (just_ended(view, job) && owed.len() != begun) {
        return Err(format!(
            "job {} is {} after {begun} minutes and owes {owed:?}",
            job.id, job.life.status
        ));
    }
    Ok(())
}

/// Nothing may be left in the outbox of a calm world, and nobody was told of what no job has run.
pub(crate) fn check_end(snapshot: &Snapshot, till: &SimTill) -> Result<(), Violation> {
    let mut keys = BTreeSet::new();
    for (id, minutes) in &snapshot.minutes {
        let public_id = snapshot.job(*id).and_then(|job| job.ask.public_id.clone());
        let public_id = public_id.unwrap_or_default();
        keys.extend(minutes.iter().map(|minute| format!("{public_id}:{minute}")));
    }
    let taken = till.taken();
    if taken != keys {
        let differ: Vec<_> = keys.symmetric_difference(&taken).collect();
        return Err(Violation::new(
            "B1",
            format!("owed and told of differ in {differ:?}"),
        ));
    }
    Ok(())
}

/// The first is 1, and none is missing or there twice.
fn is_counted(owed: &[i64]) -> bool {
    owed.iter()
        .copied()
        .zip(1..)
        .all(|(minute, number)| minute == number)
}

fn begun(started: Millis, until: Millis) -> usize {
    let begun = until
        .since(started)
        .as_millis()
        .div_ceil(MINUTE.as_millis());
    usize::try_from(begun.max(1)).unwrap_or(usize::MAX)
}

/// Whether this step ended it: by what its events say, so that a late result counts too.
fn just_ended(view: &View<'_>, job: &Job) -> bool {
    view.after
        .fresh_events(view.before)
        .filter(|(seen, _)| seen.job.id == job.id)
        .filter_map(|(_, event)| event.to)
        .any(|to| to.is_ended() && to != Status::Processed)
}
