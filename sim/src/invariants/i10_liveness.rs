//! Only words of the current holder keep a job alive: without them it is given up one lease window later.

use std::time::Duration;

use super::{LATE, View};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let Some(time) = view.time else { return Ok(()) };
    let late = Duration::from_millis(LATE.unsigned_abs());
    for job in view.after.all_jobs() {
        let life = &job.life;
        let (true, Some(lease)) = (life.status.is_in_flight(), life.lease_tick) else {
            continue;
        };
        let heard = view.shadow.heard.get(&(job.id, life.epoch)).copied();
        let heard = heard.map(|heard| heard + job.ask.timeouts.lease);
        let fair = time.opened + job.ask.timeouts.lease;
        let end = lease.max(fair).max(heard.unwrap_or(lease));
        if time.now > end + late {
            return Err(format!(
                "job {} should have been given up at {end}, and it is {}",
                job.id, time.now
            ));
        }
    }
    Ok(())
}
