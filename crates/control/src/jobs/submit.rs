//! A job begins.

use kiln_model::Status;
use kiln_store::sql::job::{self, Job, Life, NewJob};
use kiln_store::sql::job_event::{self, JobEvent};
use kiln_store::sql::queue::{self, QueueCounts, QueueState};
use kiln_store::{Bell, Tx};

use super::{admission, advance, deadline};
use crate::Denied;

/// Puts a job in its lane. When this commits, the job will end one way or another (I4).
pub fn submit(tx: &mut dyn Tx, ask: NewJob, actor: &str) -> Result<Job, Denied> {
    if let Some(queue) = ask.queue {
        let queue = queue::find(tx, queue)?.ok_or(Denied::NotFound("queue"))?;
        if queue.state != QueueState::Active {
            return Err(Denied::QueueClosed);
        }
    }
    enter(tx, ask, 0, actor)
}

/// Submission and automatic resubmission alike; the latter may enter a queue that takes no new work.
pub(super) fn enter(
    tx: &mut dyn Tx,
    ask: NewJob,
    retry_count: u32,
    actor: &str,
) -> Result<Job, Denied> {
    let (now, wall) = (tx.now(), tx.wall());
    let mut life = Life::new(now, wall, retry_count);
    life.admitted = ask.limit_key.is_none();
    life.events = 1;
    let id = job::insert(tx, &ask, &life)?;
    let mut job = Job { id, ask, life };
    if let Some(due) = deadline::next(&job) {
        advance::move_timer(tx, &mut job, Some(due))?;
    }
    let event = JobEvent {
        number: 1,
        what: "submit".to_owned(),
        from: None,
        to: Some(Status::Pending),
        epoch: 0,
        actor: actor.to_owned(),
        detail: None,
        at: wall,
    };
    job_event::append(tx, id, &event)?;
    if let Some(queue) = job.ask.queue {
        queue::count(
            tx,
            queue,
            QueueCounts {
                active: 1,
                ..QueueCounts::default()
            },
        )?;
    }
    if job.ask.limit_key.is_some() {
        admission::settle(tx, &job)?;
    } else {
        tx.ring(Bell::Lane(job.ask.lane));
    }
    Ok(job)
}
