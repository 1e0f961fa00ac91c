//! Queues of actions: their states, their counts, and their end.
//!
//! ```text
//! active ─▶ draining ─▶ canceled
//!    ╰────────────────────▲
//! ```

use std::time::Duration;

use kiln_store::Tx;
use kiln_store::sql::job;
use kiln_store::sql::queue::{self, Queue, QueueState};

use crate::tasks::{self, Task};
use crate::{Denied, jobs};

/// A queue without work for this long is removed.
pub const IDLE_EXPIRY: Duration = Duration::from_mins(15);
/// How many actions one transaction cancels.
const BATCH: i64 = 256;

pub fn create(tx: &mut dyn Tx, tag: &str, max_retries: u32) -> Result<i64, Denied> {
    let id = queue::create(tx, tag, max_retries)?;
    let due = tx.now() + IDLE_EXPIRY;
    tasks::arm(tx, due, &Task::QueueIdle { queue: id })?;
    Ok(id)
}

/// Takes no new work from now on; what it has finishes. A canceled queue stays canceled.
pub fn drain(tx: &mut dyn Tx, id: i64) -> Result<(), Denied> {
    if find(tx, id)?.state == QueueState::Active {
        queue::set_state(tx, id, QueueState::Draining)?;
    }
    Ok(())
}

/// Takes no new work, and cancels what it has.
pub fn cancel(tx: &mut dyn Tx, id: i64) -> Result<(), Denied> {
    find(tx, id)?;
    queue::set_state(tx, id, QueueState::Canceled)?;
    cancel_some(tx, id)
}

/// One batch of the above; another frame follows while there are more.
pub fn cancel_some(tx: &mut dyn Tx, id: i64) -> Result<(), Denied> {
    let ids = job::live_actions(tx, Some(id), BATCH)?;
    for action in &ids {
        jobs::cancel(tx, *action, "queue")?;
    }
    if !ids.is_empty() {
        tasks::send(tx, &Task::CancelQueue { queue: id })?;
    }
    Ok(())
}

/// The idle timer fired: the queue goes if nothing happened in it for long, and otherwise is looked at again later.
pub fn expire(tx: &mut dyn Tx, id: i64) -> Result<bool, Denied> {
    let Some(found) = queue::find(tx, id)? else {
        return Ok(false);
    };
    let now = tx.now();
    let due = found.idle_since + IDLE_EXPIRY;
    if found.counts.active == 0 && due <= now {
        queue::delete(tx, id)?;
        return Ok(true);
    }
    let later = if due > now { due } else { now + IDLE_EXPIRY };
    tasks::arm(tx, later, &Task::QueueIdle { queue: id })?;
    Ok(false)
}

fn find(tx: &mut dyn Tx, id: i64) -> Result<Queue, Denied> {
    queue::find(tx, id)?.ok_or(Denied::NotFound("queue"))
}
