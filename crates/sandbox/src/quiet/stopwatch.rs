//! Nanoseconds, for the noise probe alone: its subject is time itself.
#![expect(
    clippy::disallowed_methods,
    reason = "the probe measures this host's time; nothing is decided by this clock"
)]

use std::time::{Duration, Instant};

#[derive(Clone, Copy, Debug)]
pub(super) struct Stopwatch(Instant);

impl Stopwatch {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
