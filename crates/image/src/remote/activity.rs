//! Telling a registry that is slow from one that is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::RemoteErrorKind;

/// A registry that does nothing for so long will do nothing more on this connection. Storing a
/// large blob after its last byte is the longest pause an honest one makes.
const SILENCE: Duration = Duration::from_mins(1);

/// Signs of life of one request, such as bytes taken from its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Activity(Arc<AtomicU64>);

impl Activity {
    pub(super) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for a request as long as there are signs of life.
    pub(super) async fn watch<T>(
        &self,
        request: impl Future<Output = reqwest::Result<T>>,
    ) -> Result<T, RemoteErrorKind> {
        let mut request = std::pin::pin!(request);
        loop {
            let before = self.0.load(Ordering::Relaxed);
            match tokio::time::timeout(SILENCE, &mut request).await {
                Ok(outcome) => return Ok(outcome?),
                Err(_) if self.0.load(Ordering::Relaxed) != before => {}
                Err(_) => return Err(RemoteErrorKind::Stalled(SILENCE.as_secs())),
            }
        }
    }
}

/// Waits for something a registry has to do at once.
pub(super) async fn within_silence<T>(
    request: impl Future<Output = reqwest::Result<T>>,
) -> Result<T, RemoteErrorKind> {
    Activity::default().watch(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_request_without_signs_of_life_is_given_up() {
        let outcome = within_silence(std::future::pending::<reqwest::Result<()>>()).await;
        assert!(
            matches!(outcome, Err(RemoteErrorKind::Stalled(60))),
            "{outcome:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_keeps_moving_may_take_long() {
        let activity = Activity::default();
        let request = async {
            for _ in 0..100 {
                tokio::time::sleep(SILENCE / 2).await;
                activity.note();
            }
            Ok("done")
        };
        assert_eq!(activity.watch(request).await.unwrap(), "done");
    }
}
