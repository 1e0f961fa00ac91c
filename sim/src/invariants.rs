//! The promises, each in a file of its own, checked after every step.

mod b01_minutes;
mod causes;
mod dead_letters;
mod i01_one_lease;
mod i02_fencing;
mod i03_transitions;
mod i04_no_lost_job;
mod i05_no_lost_result;
mod i06_one_published;
mod i07_idempotence;
mod i08_cancel;
mod i09_hard_timeout;
mod i10_liveness;
mod i11_fair_window;
mod i12_claim_order;
mod i13_every_job_ends;
mod limits;
mod queue_counts;
mod session;
mod slots;
mod timers;

use kiln_model::{Millis, Trigger};
use kiln_store::sql::job_event::JobEvent;

use crate::note::Note;
use crate::objects::SimObjects;
use crate::outcome::Violation;
use crate::shadow::Shadow;
use crate::snapshot::Snapshot;

pub(crate) use b01_minutes::check_end as check_billed;
pub(crate) use i13_every_job_ends::check_end;

/// How late the kernel may come to a timer: the longest freeze, and a little.
const LATE: i64 = 13_000;

/// Everything a check may look at.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) before: &'a Snapshot,
    pub(crate) after: &'a Snapshot,
    pub(crate) shadow: &'a Shadow,
    pub(crate) objects: &'a SimObjects,
    pub(crate) notes: &'a [Note],
    /// Kernel time now, and when this server began.
    pub(crate) time: Option<Times>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) now: Millis,
    pub(crate) opened: Millis,
}

type Check = fn(&View<'_>) -> Result<(), String>;

/// In this order: of two that one step breaks, the first is reported.
const CHECKS: &[(&str, Check)] = &[
    ("I1", i01_one_lease::check),
    ("I2", i02_fencing::check),
    ("I3", i03_transitions::check),
    ("I4", i04_no_lost_job::check),
    ("I5", i05_no_lost_result::check),
    ("I6", i06_one_published::check),
    ("I7", i07_idempotence::check),
    ("I8", i08_cancel::check),
    ("I9", i09_hard_timeout::check),
    ("I10", i10_liveness::check),
    ("I11", i11_fair_window::check),
    ("I12", i12_claim_order::check),
    ("I13", i13_every_job_ends::check),
    ("B1", b01_minutes::check),
    ("limits", limits::check),
    ("queue counts", queue_counts::check),
    ("session", session::check),
    ("slots", slots::check),
    ("causes", causes::check),
    ("timers", timers::check),
    ("dead letters", dead_letters::check),
];

/// The first broken promise, if there is one.
pub(crate) fn check(view: &View<'_>) -> Result<(), Violation> {
    for (name, check) in CHECKS {
        check(view).map_err(|detail| Violation::new(name, detail))?;
    }
    Ok(())
}

/// What an event says moved the job; nothing for its submission.
fn trigger(event: &JobEvent) -> Option<Trigger> {
    Trigger::ALL
        .into_iter()
        .find(|trigger| trigger.name() == event.what)
}
