//! Waiting, so that tests need not.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use kiln_model::{Clock, Millis};

/// A clock that can also be waited for.
pub trait Timer: Clock {
    /// Ends at or after a monotonic time.
    fn sleep_until(&self, at: Millis) -> BoxFuture<'_, ()>;
}

/// Waits by tokio's timer, in the time of another clock.
#[derive(Clone, Debug)]
pub struct TokioTimer {
    clock: Arc<dyn Clock>,
}

impl TokioTimer {
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock }
    }
}

impl Clock for TokioTimer {
    fn wall(&self) -> Millis {
        self.clock.wall()
    }

    fn monotonic(&self) -> Millis {
        self.clock.monotonic()
    }
}

impl Timer for TokioTimer {
    fn sleep_until(&self, at: Millis) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A timer may fire a fraction of a millisecond early by the other clock's reckoning.
            while self.clock.monotonic() < at {
                tokio::time::sleep(at.since(self.clock.monotonic())).await;
            }
        })
    }
}
