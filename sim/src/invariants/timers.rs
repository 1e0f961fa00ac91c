//! A job that waits for a deadline has exactly one timer, the one it knows of; any other job has none. Queues have one each.

use kiln_control::tasks::Task;
use kiln_kernel::TimerKey;
use kiln_model::Status;
use kiln_store::sql::job::Job;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for job in view.after.all_jobs() {
        let expected: Vec<TimerKey> = if waits(job) {
            let (due, seq) = job
                .life
                .timer
                .ok_or_else(|| format!("job {} waits and knows of no timer", job.id))?;
            vec![TimerKey::new(due, seq.unsigned_abs())]
        } else {
            Vec::new()
        };
        let armed = keys(view, &Task::Deadline { job: job.id });
        if armed != expected {
            return Err(format!(
                "job {} is {}, expects the timers {expected:?} and has {armed:?}",
                job.id, job.life.status
            ));
        }
    }
    for queue in &view.after.queues {
        let armed = keys(view, &Task::QueueIdle { queue: queue.id });
        if armed.len() != 1 {
            return Err(format!("queue {} has the timers {armed:?}", queue.id));
        }
    }
    Ok(())
}

fn waits(job: &Job) -> bool {
    match job.life.status {
        Status::Pending => job.ask.timeouts.pending.is_some(),
        Status::Claimed | Status::Running => true,
        Status::Completed
        | Status::Processed
        | Status::Failed
        | Status::Canceled
        | Status::Abandoned => false,
    }
}

fn keys(view: &View<'_>, task: &Task) -> Vec<TimerKey> {
    view.after
        .timers
        .iter()
        .filter(|(_, armed)| armed == task)
        .map(|(key, _)| *key)
        .collect()
}
