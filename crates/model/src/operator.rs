//! What operators see of a server's insides.

pub mod registry;

use serde::{Deserialize, Serialize};

/// How much the kernel holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelStats {
    /// By worker, in order.
    pub inboxes: Vec<InboxStats>,
    pub outbox: u64,
    pub leases: u64,
    pub timers: u64,
    /// Kernel time of the earliest timer, in milliseconds.
    pub next_timer: Option<i64>,
    /// Kernel time now, in milliseconds.
    pub now: i64,
    pub dead_letters: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InboxStats {
    pub worker: u64,
    pub frames: u64,
}

/// A frame that spent its retry budget.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadLetter {
    pub worker: u64,
    pub seq: u64,
    /// The code of the last failure.
    pub failure: i32,
    pub attempts: u32,
    /// The whole frame, as hex.
    pub frame: String,
}

/// Where a dead letter went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replayed {
    pub worker: u64,
    pub seq: u64,
}

/// A key that is shown once.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewKey {
    pub key: String,
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NewKey").finish_non_exhaustive()
    }
}
