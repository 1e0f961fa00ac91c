//! How far a transfer is.

use std::fmt;
use std::sync::Arc;

use kiln_model::Digest;

/// Something that happened to one blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is there already and is not sent again.
    Skipped { blob: Digest, size: u64 },
    /// So many of its bytes are over. After a failed attempt the count may go back.
    Moved { blob: Digest, bytes: u64, size: u64 },
    /// It is over and verified.
    Finished { blob: Digest, size: u64 },
}

/// Who wants to know.
#[derive(Clone)]
pub struct Progress(Arc<dyn Fn(Event) + Send + Sync>);

impl Progress {
    pub fn new(listener: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(listener))
    }

    /// Nobody listens.
    pub fn silent() -> Self {
        Self::new(|_| {})
    }

    pub(super) fn report(&self, event: Event) {
        (self.0)(event);
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}
