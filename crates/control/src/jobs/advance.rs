//! The one place where a status changes.

use kiln_model::{Millis, Status, Trigger, next};
use kiln_store::sql::job::{self, Job, Life};
use kiln_store::sql::job_event::{self, JobEvent};
use kiln_store::sql::queue::{self, QueueCounts};
use kiln_store::sql::{heartbeat, report};
use kiln_store::{Bell, Tx};

use super::{admission, deadline, retry};
use crate::tasks::{self, Task};
use crate::{Denied, billing};

/// What happened, who did it, and what is worth keeping about it.
#[derive(Clone, Debug)]
pub(crate) struct Cause<'a> {
    pub(crate) trigger: Trigger,
    pub(crate) actor: &'a str,
    pub(crate) message: Option<&'a str>,
}

impl<'a> Cause<'a> {
    pub(crate) const fn new(trigger: Trigger, actor: &'a str) -> Self {
        Self {
            trigger,
            actor,
            message: None,
        }
    }
}

/// Moves `job` as the table says, with everything that follows from it, in this transaction.
pub(crate) fn advance(tx: &mut dyn Tx, job: &mut Job, cause: &Cause<'_>) -> Result<(), Denied> {
    advance_with(tx, job, cause, |_| {})
}

/// The same; `edit` sets what this move sets beyond the status.
pub(crate) fn advance_with(
    tx: &mut dyn Tx,
    job: &mut Job,
    cause: &Cause<'_>,
    edit: impl FnOnce(&mut Life),
) -> Result<(), Denied> {
    let (from, epoch) = (job.life.status, job.life.epoch);
    let to = next(job.ask.kind, from, cause.trigger).ok_or(Denied::Illegal {
        from,
        trigger: cause.trigger,
    })?;
    let wall = tx.wall();
    let lease_id = job.life.lease_id.clone();
    edit(&mut job.life);
    job.life.status = to;
    job.life.modified = wall;
    job.life.events += 1;
    if to.is_ended() && !from.is_ended() {
        job.life.ended = Some(wall);
    }
    // A result that is put to use keeps its cause; a refused or a late one has a new one.
    if to.is_ended() && to != Status::Processed {
        job.life.cause = Some(cause.trigger);
        job.life.message = cause.message.map(str::to_owned);
    }
    if to == Status::Running || (to.is_ended() && to != Status::Processed) {
        let now = tx.now();
        billing::charge(tx, job, now)?;
    }
    rearm(tx, job)?;
    if !job::save(tx, job.id, &job.life, from, epoch)? {
        return Err(Denied::Raced);
    }
    if job.life.lease_id != lease_id {
        job::set_lease_id(tx, job.id, job.life.lease_id.as_deref())?;
    }
    let event = JobEvent {
        number: job.life.events,
        what: cause.trigger.name().to_owned(),
        from: Some(from),
        to: Some(to),
        epoch: job.life.epoch,
        actor: cause.actor.to_owned(),
        detail: cause.message.map(str::to_owned),
        at: wall,
    };
    job_event::append(tx, job.id, &event)?;
    tx.ring(Bell::Job(job.id));
    if from.is_in_flight() && !to.is_in_flight() {
        heartbeat::forget(tx, job.id)?;
        // What waited beside it may fit now.
        if let (Some(runner), Some(_)) = (job.life.runner, job.life.slot) {
            tx.ring(Bell::Slots(runner));
        }
    }
    count_in_queue(tx, job, from, to)?;
    show_in_report(tx, job, from, to)?;
    admission::settle(tx, job)?;
    if matches!(to, Status::Failed | Status::Abandoned) {
        retry::consider(tx, job, cause.trigger)?;
    }
    Ok(())
}

/// One kernel timer per job, no later than its next deadline. A firing timer reads the truth again and moves itself, so
/// heartbeats need not move it, and a deadline that is put off need not either.
fn rearm(tx: &mut dyn Tx, job: &mut Job) -> Result<(), Denied> {
    let due = deadline::next(job);
    let armed = job.life.timer.map(|timer| timer.0);
    if due == armed || due.zip(armed).is_some_and(|(due, armed)| armed <= due) {
        return Ok(());
    }
    let task = Task::Deadline { job: job.id };
    if let Some(timer) = job.life.timer.take() {
        tasks::disarm(tx, timer, &task)?;
    }
    if let Some(due) = due {
        job.life.timer = Some(tasks::arm(tx, due, &task)?);
    }
    Ok(())
}

/// Gives a job without a timer the one it needs, and remembers it in the row.
pub(super) fn move_timer(
    tx: &mut dyn Tx,
    job: &mut Job,
    due: Option<Millis>,
) -> Result<(), Denied> {
    job.life.timer = due
        .map(|due| tasks::arm(tx, due, &Task::Deadline { job: job.id }))
        .transpose()?;
    if job::save(tx, job.id, &job.life, job.life.status, job.life.epoch)? {
        return Ok(());
    }
    Err(Denied::Raced)
}

fn count_in_queue(tx: &mut dyn Tx, job: &Job, from: Status, to: Status) -> Result<(), Denied> {
    let Some(queue) = job.ask.queue else {
        return Ok(());
    };
    let mut change = QueueCounts::default();
    add(&mut change, from, -1);
    add(&mut change, to, 1);
    if change != QueueCounts::default() {
        queue::count(tx, queue, change)?;
    }
    Ok(())
}

fn add(counts: &mut QueueCounts, status: Status, amount: i64) {
    match status {
        Status::Pending | Status::Claimed | Status::Running => counts.active += amount,
        Status::Completed | Status::Processed => counts.completed += amount,
        Status::Failed => counts.failed += amount,
        Status::Abandoned => counts.abandoned += amount,
        Status::Canceled => counts.canceled += amount,
    }
}

/// A report follows its job until the output is parsed; then it speaks for itself.
fn show_in_report(tx: &mut dyn Tx, job: &Job, from: Status, to: Status) -> Result<(), Denied> {
    let word = report_status(to);
    if let Some(id) = job.ask.report
        && let Some(status) = word.filter(|_| word != report_status(from))
    {
        report::set_status(tx, id, status, job.life.message.as_deref())?;
    }
    Ok(())
}

/// What a report says of a job in this status; nothing when the report speaks for itself.
const fn report_status(status: Status) -> Option<&'static str> {
    match status {
        Status::Pending | Status::Claimed => Some("pending"),
        Status::Running | Status::Completed => Some("running"),
        Status::Failed | Status::Abandoned => Some("failed"),
        Status::Canceled => Some("canceled"),
        Status::Processed => None,
    }
}
