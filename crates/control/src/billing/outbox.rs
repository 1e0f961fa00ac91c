//! When the outbox is looked into: a timer, armed by the first minute that is owed and gone when nothing is.

use std::time::Duration;

use kiln_kernel::{Kind, Message, inbox, timers};
use kiln_model::Millis;
use kiln_store::sql::{billing_minute, setting};
use kiln_store::{Bell, Tx};
use serde::{Deserialize, Serialize};

use crate::Denied;

/// The kernel worker that tells of minutes. It is not the server's own, which must not wait for anybody outside.
pub const BILLING: u64 = 2;
/// How long minutes gather, so that many are told of together. Also longer than any transaction lasts; see [`rest`].
const GATHER: Duration = Duration::from_secs(5);
/// The longest rest after trouble.
const MAX_BACKOFF: Duration = Duration::from_mins(10);
/// When the timer is due, in kernel time.
const SETTING: &str = "billing.due";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub(super) enum Task {
    /// Tell of the oldest minutes that are owed, after so many failures in a row.
    Bill { failures: u32 },
    /// Try a minute again that was refused, for this reason.
    BillRefused {
        job: i64,
        minute: i64,
        refused: String,
    },
}

impl Task {
    fn message(&self, kind: Kind) -> Message {
        let id = match self {
            Self::Bill { .. } => "bill".to_owned(),
            Self::BillRefused { job, minute, .. } => format!("bill:{job}:{minute}"),
        };
        let payload = serde_json::to_vec(self).expect("a task is plain data");
        let worker = i64::try_from(BILLING).expect("a small number");
        Message::new(kind, worker, id, payload)
    }
}

/// Minutes that a server left behind are told of by the next.
pub fn ensure(tx: &mut dyn Tx) -> Result<(), Denied> {
    if is_owed(tx)? { wake(tx) } else { Ok(()) }
}

/// Something is owed. A timer that should have fired long ago was lost.
pub(super) fn wake(tx: &mut dyn Tx) -> Result<(), Denied> {
    let now = tx.now();
    match due(tx)? {
        Some(due) if now < due + MAX_BACKOFF => Ok(()),
        _ => arm(tx, GATHER, 0),
    }
}

/// Trouble: again later, and each time later than before.
pub(super) fn back_off(tx: &mut dyn Tx, failures: u32) -> Result<(), Denied> {
    let doublings = failures.min(16);
    let rest = (Duration::from_secs(1) * (1 << doublings)).min(MAX_BACKOFF);
    arm(tx, rest, failures.saturating_add(1))
}

/// A page was told of: the next at once.
pub(super) fn go_on(tx: &mut dyn Tx) -> Result<(), Denied> {
    arm(tx, Duration::ZERO, 0)
}

/// Nothing is owed any more. A transaction that is under way may still believe in the timer, so there is one last look
/// after all of those have ended.
pub(super) fn rest(tx: &mut dyn Tx) -> Result<(), Denied> {
    let now = tx.now();
    if due(tx)?.is_some_and(|due| due <= now) {
        setting::remove(tx, SETTING)?;
        arm_at(tx, now + GATHER, 0)?;
    }
    Ok(())
}

pub(super) fn is_owed(tx: &mut dyn Tx) -> Result<bool, Denied> {
    Ok(!billing_minute::owed(tx, 1)?.is_empty())
}

/// A minute that was refused becomes a frame of its own: one that fails again is a dead letter, which can be looked at and
/// replayed.
pub(super) fn set_aside(
    tx: &mut dyn Tx,
    job: i64,
    minute: i64,
    refused: &str,
) -> Result<(), Denied> {
    let task = Task::BillRefused {
        job,
        minute,
        refused: refused.to_owned(),
    };
    inbox::send(tx, &task.message(Kind::Command).view())?;
    tx.ring(Bell::Kernel);
    Ok(())
}

fn arm(tx: &mut dyn Tx, rest: Duration, failures: u32) -> Result<(), Denied> {
    let due = tx.now() + rest;
    setting::put(tx, SETTING, &due.0.to_string())?;
    arm_at(tx, due, failures)
}

fn arm_at(tx: &mut dyn Tx, due: Millis, failures: u32) -> Result<(), Denied> {
    let frame = Task::Bill { failures }
        .message(Kind::Timer)
        .encode()
        .map_err(kiln_kernel::Status::from)?;
    timers::arm(tx, due, &frame)?;
    tx.ring(Bell::Kernel);
    Ok(())
}

fn due(tx: &mut dyn Tx) -> Result<Option<Millis>, Denied> {
    let stored = setting::get(tx, SETTING)?;
    Ok(stored.and_then(|text| text.parse().ok()).map(Millis))
}
