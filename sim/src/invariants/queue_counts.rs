//! The counts of a queue are what its rows say.

use kiln_model::Status;
use kiln_store::sql::queue::QueueCounts;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for queue in &view.after.queues {
        let mut counts = QueueCounts::default();
        for job in view.after.all_jobs() {
            if job.ask.queue != Some(queue.id) {
                continue;
            }
            match job.life.status {
                Status::Pending | Status::Claimed | Status::Running => counts.active += 1,
                Status::Completed | Status::Processed => counts.completed += 1,
                Status::Failed => counts.failed += 1,
                Status::Canceled => counts.canceled += 1,
                Status::Abandoned => counts.abandoned += 1,
            }
        }
        if counts != queue.counts {
            return Err(format!(
                "queue {} says {:?}, and its rows {counts:?}",
                queue.id, queue.counts
            ));
        }
    }
    Ok(())
}
