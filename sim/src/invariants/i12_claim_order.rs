//! A claim takes the first job it may take: priority, then age, then id; and it takes one if there is one.

use kiln_model::{Kind, Status, Trigger};
use kiln_store::sql::job::Job;

use super::{View, trigger};
use crate::note::Note;
use crate::snapshot::claim_order;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for (seen, event) in view.after.fresh_events(view.before) {
        let Some(runner) = seen.job.life.runner else {
            continue;
        };
        if trigger(event) == Some(Trigger::Claim) {
            is_first(
                view,
                runner,
                seen.job.ask.kind == Kind::Bench,
                Some(seen.job.id),
            )?;
        }
    }
    for note in view.notes {
        if let Note::Claim {
            runner,
            forgets,
            got: None,
        } = note
        {
            is_first(view, *runner, *forgets, None)?;
        }
    }
    Ok(())
}

fn is_first(view: &View<'_>, runner: i64, forgets: bool, got: Option<i64>) -> Result<(), String> {
    let lanes = view
        .shadow
        .lanes
        .get(&runner)
        .map_or(&[][..], Vec::as_slice);
    let first = view
        .before
        .all_jobs()
        .filter(|job| lanes.contains(&job.ask.lane) && may_be_claimed(view, job, runner, forgets))
        .min_by_key(|job| claim_order(job))
        .map(|job| job.id);
    if first == got {
        return Ok(());
    }
    Err(format!(
        "runner {runner} got {got:?}, and {first:?} was first in its lanes"
    ))
}

/// Pending, and no job with the same limit key is in flight once the runner has let go of what it forgot.
fn may_be_claimed(view: &View<'_>, job: &Job, runner: i64, forgets: bool) -> bool {
    let blocks = |other: &Job| {
        let forgotten = forgets && other.life.runner == Some(runner);
        other.life.status.is_in_flight()
            && !forgotten
            && other.ask.limit_key.is_some()
            && other.ask.limit_key == job.ask.limit_key
    };
    job.life.status == Status::Pending && !view.before.all_jobs().any(blocks)
}
