//! Past its timeout and grace a job is not running, whatever heartbeats arrive.

use std::time::Duration;

use kiln_model::Status;

use super::{LATE, View};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let Some(time) = view.time else { return Ok(()) };
    let late = Duration::from_millis(LATE.unsigned_abs());
    for job in view.after.all_jobs() {
        let (Status::Running, Some(started)) = (job.life.status, job.life.started_tick) else {
            continue;
        };
        let times = &job.ask.timeouts;
        let end = started + times.run + times.grace;
        let fair = time.opened + times.lease;
        if time.now > end.max(fair) + late {
            return Err(format!(
                "job {} runs since {started} at {}",
                job.id, time.now
            ));
        }
    }
    Ok(())
}
