//! Per limit key at most one job is in flight, and exactly those that may go next are admitted.

use std::collections::BTreeMap;

use kiln_model::Status;
use kiln_store::sql::job::Job;

use super::View;
use crate::snapshot::claim_order;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let mut keys: BTreeMap<&str, Vec<&Job>> = BTreeMap::new();
    for job in view.after.all_jobs() {
        match &job.ask.limit_key {
            Some(key) => keys.entry(key).or_default().push(job),
            None if job.life.status == Status::Pending && !job.life.admitted => {
                return Err(format!("job {} has no limit and is not admitted", job.id));
            }
            None => {}
        }
    }
    for (key, jobs) in keys {
        let in_flight = jobs
            .iter()
            .filter(|job| job.life.status.is_in_flight())
            .count();
        if in_flight > 1 {
            return Err(format!("{in_flight} jobs of limit {key} are in flight"));
        }
        for job in jobs.iter().filter(|job| job.life.status == Status::Pending) {
            let first_of_lane = jobs
                .iter()
                .filter(|other| {
                    other.ask.lane == job.ask.lane && other.life.status == Status::Pending
                })
                .min_by_key(|job| claim_order(job))
                .is_some_and(|first| first.id == job.id);
            if job.life.admitted != (in_flight == 0 && first_of_lane) {
                return Err(format!(
                    "job {} of limit {key} is admitted: {}, with {in_flight} in flight",
                    job.id, job.life.admitted
                ));
            }
        }
    }
    Ok(())
}
