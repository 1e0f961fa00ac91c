//! What the server does later or again: kernel frames and timers, written in the transaction that creates the need.

mod handler;
mod watch;

pub(crate) use handler::status;
pub use handler::{Objects, Prepared, TaskHandler};
pub use watch::{Part, Unwatched, Watch};

use kiln_kernel::{Kind, Message, TimerKey, inbox, timers};
use kiln_model::Millis;
use kiln_store::{Bell, Tx};
use serde::{Deserialize, Serialize};

use crate::Denied;

/// The kernel worker whose inbox and timers are the server's. All servers on one database share it; leases keep them
/// out of one another's way.
pub const SERVER: u64 = 1;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// Look whether a deadline of this job has passed.
    Deadline { job: i64 },
    /// Put the result of this job to use.
    Process { job: i64, epoch: i64 },
    /// Look whether this queue may go.
    QueueIdle { queue: i64 },
    /// Cancel the next batch of this queue's actions.
    CancelQueue { queue: i64 },
    /// Abandon the next batch of actions.
    AbandonActions,
    /// Remove the next slice of the numbers of this project, which is gone.
    ForgetNumbers { project: i64 },
    /// Look after the next page of what is looked after now and then.
    Housekeeping { from: Option<String> },
}

impl Task {
    /// The same work has the same id, which is what retry budgets count by.
    fn id(&self) -> String {
        match self {
            Self::Deadline { job } => format!("deadline:{job}"),
            Self::Process { job, epoch } => format!("process:{job}:{epoch}"),
            Self::QueueIdle { queue } => format!("queue-idle:{queue}"),
            Self::CancelQueue { queue } => format!("queue-cancel:{queue}"),
            Self::AbandonActions => "abandon".to_owned(),
            Self::ForgetNumbers { project } => format!("forget-numbers:{project}"),
            Self::Housekeeping { .. } => "housekeeping".to_owned(),
        }
    }

    fn message(&self, kind: Kind) -> Message {
        let payload = serde_json::to_vec(self).expect("a task is plain data");
        let worker = i64::try_from(SERVER).expect("a small number");
        Message::new(kind, worker, self.id(), payload)
    }
}

/// Does it soon: the frame commits with this transaction.
pub(crate) fn send(tx: &mut dyn Tx, task: &Task) -> Result<(), Denied> {
    inbox::send(tx, &task.message(Kind::Command).view())?;
    tx.ring(Bell::Kernel);
    Ok(())
}

/// Does it at `due`; answers what [`disarm`] needs.
pub(crate) fn arm(tx: &mut dyn Tx, due: Millis, task: &Task) -> Result<(Millis, i64), Denied> {
    let frame = task
        .message(Kind::Timer)
        .encode()
        .map_err(kiln_kernel::Status::from)?;
    let key = timers::arm(tx, due, &frame)?;
    tx.ring(Bell::Kernel);
    Ok((
        due,
        i64::try_from(key.seq).map_err(|_| kiln_kernel::Status::Full)?,
    ))
}

/// Does not do it after all. A timer that is gone already is fine, and one that has taken its place since is left alone.
pub(crate) fn disarm(
    tx: &mut dyn Tx,
    (due, seq): (Millis, i64),
    task: &Task,
) -> Result<(), Denied> {
    let seq = u64::try_from(seq).map_err(|_| kiln_kernel::Status::NotFound)?;
    timers::cancel_message(tx, TimerKey::new(due, seq), task.id().as_bytes())?;
    Ok(())
}
