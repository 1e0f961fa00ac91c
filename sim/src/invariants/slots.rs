//! A job that does not share is alone on a runner with slots.

use std::collections::BTreeMap;

use kiln_store::sql::job::Job;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let mut runners: BTreeMap<Option<i64>, Vec<&Job>> = BTreeMap::new();
    let in_slots = view
        .after
        .all_jobs()
        .filter(|job| job.life.status.is_in_flight() && job.life.slot.is_some());
    for job in in_slots {
        runners.entry(job.life.runner).or_default().push(job);
    }
    for jobs in runners.values().filter(|jobs| jobs.len() > 1) {
        if let Some(alone) = jobs.iter().find(|job| !job.ask.shared) {
            return Err(format!(
                "job {} does not share, and is one of {} that its runner holds",
                alone.id,
                jobs.len()
            ));
        }
    }
    Ok(())
}
