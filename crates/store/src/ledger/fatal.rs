//! The news that the ledger cannot go on, for whoever can end the process.

use tokio::sync::watch;

use super::pending::block_on;
use crate::Error;

/// Tells when the ledger has stopped for good: after a failed fsync nothing it could say would be true.
#[derive(Clone, Debug)]
pub struct Fatal {
    reason: watch::Sender<Option<Error>>,
}

impl Fatal {
    pub(crate) fn new() -> Self {
        Self {
            reason: watch::Sender::new(None),
        }
    }

    /// Resolves when the ledger has stopped, with the reason. Exit then: a restart recovers.
    pub async fn stopped(&self) -> Error {
        let mut news = self.reason.subscribe();
        let reason = news.wait_for(Option::is_some).await;
        // `self` holds the sender, so the channel is open as long as this future lives.
        reason
            .ok()
            .and_then(|reason| reason.clone())
            .unwrap_or(Error::Closed)
    }

    /// The same, for a plain thread.
    pub fn wait(&self) -> Error {
        block_on(self.stopped())
    }

    pub(crate) fn report(&self, error: Error) {
        self.reason.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(error);
            first
        });
    }
}
