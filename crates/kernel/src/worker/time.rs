//! Where a worker gets its time from.

use std::time::Duration;

use kiln_model::Millis;

/// A clock and a way to wait. The worker uses it for leases, due timers, idle sleep and latencies, so that all of them
/// live on the same time line, real or simulated.
pub trait Time: Send + Sync + 'static {
    fn now(&self) -> Millis;
    /// Waits, at most so long. It may return early, and should when there is new work or the worker is to stop.
    fn sleep(&self, span: Duration);
}
