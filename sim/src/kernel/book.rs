//! What the world remembers about its frames, outside the store.

use std::collections::{BTreeMap, BTreeSet};

use kiln_kernel::{Slot, TimerKey};
use kiln_model::Millis;

use super::script::Script;
use crate::outcome::Violation;
use crate::rng::Rng;

#[derive(Debug)]
pub(super) struct Book {
    pub(super) rng: Rng,
    /// Everything whose sending was acknowledged, and what may have been sent when a crash took the answer.
    pub(super) sent: BTreeMap<String, Sent>,
    /// Timers whose cancellation was acknowledged.
    pub(super) canceled: BTreeSet<String>,
    /// Frames that are no messages.
    pub(super) garbage: BTreeSet<Vec<u8>>,
    /// Which runner prepares a slot, and until when nobody else may.
    pub(super) preparing: BTreeMap<Slot, (usize, Millis)>,
    /// Counts everything that is sent or takes effect, so that their order is known.
    pub(super) order: u64,
    pub(super) violation: Option<Violation>,
    pub(super) interleaving: bool,
    pub(super) calm: bool,
    pub(super) faults: u64,
}

#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub(super) script: Script,
    pub(super) kind: SentKind,
    /// Its answer was lost in a crash: it may not be there at all.
    pub(super) doubtful: bool,
    pub(super) order: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentKind {
    Plain,
    /// Sent any number of times, to take effect once in a while.
    Once,
    /// In the inbox of a worker it is not for.
    Misrouted,
    Timer(TimerKey),
}

impl Book {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: Rng::new(seed),
            sent: BTreeMap::new(),
            canceled: BTreeSet::new(),
            garbage: BTreeSet::new(),
            preparing: BTreeMap::new(),
            order: 0,
            violation: None,
            interleaving: false,
            calm: false,
            faults: 0,
        }
    }

    pub(super) fn next_order(&mut self) -> u64 {
        self.order += 1;
        self.order
    }

    pub(super) fn break_promise(&mut self, invariant: &'static str, detail: String) {
        self.violation
            .get_or_insert_with(|| Violation::new(invariant, detail));
    }
}
