//! At most one live lease per job; epochs of a job only grow, and every claim opens a new one.

use kiln_model::{Kind, Trigger};

use super::{View, trigger};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for (seen, event) in view.after.fresh_events(view.before) {
        if trigger(event) != Some(Trigger::Claim) {
            continue;
        }
        let earlier = seen
            .events
            .iter()
            .filter(|other| other.number < event.number)
            .map(|other| other.epoch)
            .max();
        if earlier.is_some_and(|earlier| event.epoch <= earlier) {
            return Err(format!(
                "job {} was claimed in epoch {}, which is not new",
                seen.job.id, event.epoch
            ));
        }
    }
    for job in view.after.all_jobs() {
        let life = &job.life;
        if life.status.is_in_flight() && (life.runner.is_none() || life.epoch < 1) {
            return Err(format!("job {} is {} and nobody's", job.id, life.status));
        }
        let before = view.before.job(job.id).map(|job| job.life.epoch);
        if before.is_some_and(|before| life.epoch < before) {
            return Err(format!("the epoch of job {} went back", job.id));
        }
        let shares = |other: &&_| shares_channel(job, other);
        if let Some(other) = view.after.all_jobs().find(shares) {
            return Err(format!(
                "a slot of a bench runner holds jobs {} and {}",
                job.id, other.id
            ));
        }
    }
    Ok(())
}

/// A bench channel, one for each slot of a runner, is one job wide.
fn shares_channel(job: &kiln_store::sql::job::Job, other: &kiln_store::sql::job::Job) -> bool {
    let held = |job: &kiln_store::sql::job::Job| {
        job.life.status.is_in_flight() && job.ask.kind == Kind::Bench
    };
    let place = |job: &kiln_store::sql::job::Job| (job.life.runner, job.life.slot);
    job.id < other.id && held(job) && held(other) && place(job) == place(other)
}
