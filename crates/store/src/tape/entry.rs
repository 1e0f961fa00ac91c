//! What one line of a recording says.

use kiln_kernel::{Disposition, MessageView, Slot, StepRecord};
use kiln_model::Millis;
use serde::{Deserialize, Serialize};

use super::call::Call;
use crate::{Engine, Error};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Start(Start),
    /// The worker looked at the clock.
    Clock(Millis),
    Transaction(Transaction),
    Outside(Outside),
    Step(Told),
}

/// Who recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub kiln: String,
    pub engine: Engine,
    /// The number by which this worker's leases are told from those of other servers.
    pub owner: u64,
    /// The wall clock.
    pub at: Millis,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Transaction {
    pub(super) write: bool,
    /// The closure's last run; none when the ledger never came to it.
    pub(super) run: Option<Run>,
    /// Why nothing was committed although the closure wanted it.
    pub(super) lost: Option<Error>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) now: Millis,
    pub(super) wall: Millis,
    pub(super) calls: Vec<Call>,
}

/// Something done outside the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Outside {
    pub(super) what: String,
    pub(super) asked: serde_json::Value,
    pub(super) failed: Option<Error>,
}

/// A step that was settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) slot: String,
    /// The message's id, if the frame could be read.
    pub(super) message: String,
    pub(super) code: i32,
    pub(super) became: String,
}

impl From<&StepRecord<'_>> for Told {
    fn from(step: &StepRecord<'_>) -> Self {
        let slot = match step.slot {
            Slot::Inbox(key) => format!("inbox {}", key.seq),
            Slot::Timer(key) => format!("timer {} due {}", key.seq, key.due.0),
        };
        let message = MessageView::decode(step.frame)
            .map(|message| String::from_utf8_lossy(message.id).into_owned())
            .unwrap_or_default();
        let became = match step.disposition {
            Disposition::Acked => "acked".to_owned(),
            Disposition::Repeated => "acked as a repetition".to_owned(),
            Disposition::Requeued { failures, .. } => {
                format!("requeued after {failures} failures")
            }
            Disposition::DeadLettered { failures, .. } => {
                format!("dead-lettered after {failures} failures")
            }
            Disposition::Kept => "kept in place".to_owned(),
        };
        Self {
            slot,
            message,
            code: step.code,
            became,
        }
    }
}
