//! The host's two clocks, moved by the world.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use kiln_model::{Clock, Millis};

/// A wall clock that may jump, and a monotonic one that starts anew with every process and may stand still.
#[derive(Debug)]
pub(crate) struct SimClock {
    monotonic: AtomicI64,
    wall: AtomicI64,
    suspended: AtomicBool,
}

impl SimClock {
    pub(crate) const fn new() -> Self {
        Self {
            monotonic: AtomicI64::new(0),
            wall: AtomicI64::new(1_800_000_000_000),
            suspended: AtomicBool::new(false),
        }
    }

    pub(crate) fn advance(&self, millis: i64) {
        if !self.suspended.load(Ordering::Relaxed) {
            self.monotonic.fetch_add(millis, Ordering::Relaxed);
        }
        self.wall.fetch_add(millis, Ordering::Relaxed);
    }

    /// A person or a time server sets the wall clock.
    pub(crate) fn jump_wall(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::Relaxed);
    }

    /// The host sleeps, and its monotonic clock stands still; or it wakes up.
    pub(crate) fn suspend(&self, suspended: bool) {
        self.suspended.store(suspended, Ordering::Relaxed);
    }

    /// A new process counts from a point of its own.
    pub(crate) fn start_process(&self, monotonic: i64) {
        self.monotonic.store(monotonic, Ordering::Relaxed);
        self.suspend(false);
    }
}

impl Default for SimClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SimClock {
    fn wall(&self) -> Millis {
        Millis(self.wall.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Millis {
        Millis(self.monotonic.load(Ordering::Relaxed))
    }
}
