//! Every job ends: a claimed one meets its set-up deadline, and when faults stop all of them come to an end.

use std::time::Duration;

use kiln_model::{Kind, Status};

use super::{LATE, View};
use crate::outcome::Violation;
use crate::snapshot::{Snapshot, is_unfinished};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let Some(time) = view.time else { return Ok(()) };
    let late = Duration::from_millis(LATE.unsigned_abs());
    for job in view.after.all_jobs() {
        let (Status::Claimed, Some(claimed)) = (job.life.status, job.life.claimed_tick) else {
            continue;
        };
        let times = &job.ask.timeouts;
        let end = (claimed + times.set_up).max(time.opened + times.lease);
        if time.now > end + late {
            return Err(format!("job {} is claimed since {claimed}", job.id));
        }
    }
    Ok(())
}

/// The world has been calm for long: nothing may be left to do.
pub(crate) fn check_end(snapshot: &Snapshot, invalid: &[i64]) -> Result<(), Violation> {
    let left = |job: &&_| is_unfinished(job);
    if let Some(job) = snapshot.all_jobs().find(left) {
        return Err(Violation::new(
            "I13",
            format!("job {} is still {} at the end", job.id, job.life.status),
        ));
    }
    let unprocessed = snapshot.all_jobs().find(|job| {
        job.ask.kind == Kind::Bench
            && job.life.status == Status::Completed
            && !invalid.contains(&job.id)
    });
    if let Some(job) = unprocessed {
        return Err(Violation::new(
            "I13",
            format!("the result of job {} was never put to use", job.id),
        ));
    }
    if snapshot.waiting_frames > 0 {
        return Err(Violation::new("I13", "frames wait in the inbox at the end"));
    }
    Ok(())
}
