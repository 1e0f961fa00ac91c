//! How long the command ran, by the clock next to it: the host's view includes two wake-ups and a socket.

#![expect(
    clippy::disallowed_methods,
    reason = "the guest is where the command is timed; no decision is taken by this clock"
)]

use std::time::Instant;

#[derive(Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    pub(crate) fn elapsed_nanos(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
