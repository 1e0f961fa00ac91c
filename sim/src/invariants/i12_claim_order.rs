//! A claim takes the first job it may take: priority, then age, then id; and it takes one if there is one. A slot takes nothing if
//! the first does not fit beside what the runner's other slots hold.

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
            let asks = Asks {
                runner,
                slot: seen.job.life.slot,
                forgets: seen.job.ask.kind == Kind::Bench,
            };
            is_first(view, asks, Some(seen.job.id))?;
        }
    }
    for note in view.notes {
        if let Note::Claim {
            runner,
            slot,
            forgets,
            got: None,
        } = note
        {
            let asks = Asks {
                runner: *runner,
                slot: *slot,
                forgets: *forgets,
            };
            is_first(view, asks, None)?;
        }
    }
    Ok(())
}

/// Who claims, and whether it has forgotten what it ran.
#[derive(Clone, Copy)]
struct Asks {
    runner: i64,
    slot: Option<u32>,
    forgets: bool,
}

fn is_first(view: &View<'_>, asks: Asks, got: Option<i64>) -> Result<(), String> {
    let runner = asks.runner;
    let lanes = view
        .shadow
        .lanes
        .get(&runner)
        .map_or(&[][..], Vec::as_slice);
    let first = view
        .before
        .all_jobs()
        .filter(|job| lanes.contains(&job.ask.lane) && may_be_claimed(view, job, asks))
        .min_by_key(|job| claim_order(job))
        .filter(|job| fits(view, job, asks))
        .map(|job| job.id);
    if first == got {
        return Ok(());
    }
    Err(format!(
        "runner {runner} got {got:?}, and {first:?} was first in its lanes"
    ))
}

/// Whether a slot may take it beside what the others hold; the whole runner has no others.
fn fits(view: &View<'_>, job: &Job, asks: Asks) -> bool {
    let beside = |other: &Job| {
        other.life.status.is_in_flight()
            && other.life.runner == Some(asks.runner)
            && other.life.slot != asks.slot
    };
    asks.slot.is_none()
        || !view
            .before
            .all_jobs()
            .any(|other| beside(other) && !(job.ask.shared && other.ask.shared))
}

/// Pending, and no job with the same limit key is in flight once the runner has let go of what it forgot.
fn may_be_claimed(view: &View<'_>, job: &Job, asks: Asks) -> bool {
    let blocks = |other: &Job| {
        let forgotten =
            asks.forgets && other.life.runner == Some(asks.runner) && other.life.slot == asks.slot;
        other.life.status.is_in_flight()
            && !forgotten
            && other.ask.limit_key.is_some()
            && other.ask.limit_key == job.ask.limit_key
    };
    job.life.status == Status::Pending && !view.before.all_jobs().any(blocks)
}
