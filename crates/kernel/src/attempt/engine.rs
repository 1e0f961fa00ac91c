//! Attempt after attempt, until one commits or the retries are spent.

use std::sync::Arc;
use std::time::Duration;

use super::{Attempt, Stack};
use crate::intents::{Published, Sink};
use crate::{Kv, Status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptPolicy {
    pub max_retries: u32,
    pub initial_backoff: Duration,
    pub max_backoff: Duration,
}

impl AttemptPolicy {
    pub const DEFAULT: Self = Self {
        max_retries: 3,
        initial_backoff: Duration::from_micros(250),
        max_backoff: Duration::from_millis(10),
    };

    /// The pause after the `retry`th failed attempt, counted from 0: the first pause, doubled each time, up to the longest.
    pub fn backoff(&self, retry: u32) -> Duration {
        let factor = 1u32.checked_shl(retry).unwrap_or(u32::MAX);
        self.initial_backoff
            .saturating_mul(factor)
            .min(self.max_backoff)
    }
}

impl Default for AttemptPolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttemptStats {
    pub attempts: u32,
    pub retries: u32,
    pub conflict_retries: u32,
    pub busy_retries: u32,
    /// The code of the last attempt, 0 when it committed.
    pub last_code: i32,
}

/// Runs `body` until it commits. [`Status::Busy`] and [`Status::Conflict`], its own or of the commit, are retried after a
/// pause; anything else ends it.
///
/// The answer is where the intents went, in order. They are published in the transaction that commits the state: there is
/// no moment in which one is there without the other.
pub fn run<K, F>(
    kv: &K,
    policy: AttemptPolicy,
    sink: Sink,
    sleep: &dyn Fn(Duration),
    body: F,
) -> (AttemptStats, Result<Vec<Published>, Status>)
where
    K: Kv,
    F: Fn(&mut Attempt<'_, K::Tx>) -> Result<(), Status> + Send + Sync + 'static,
{
    let body = Arc::new(body);
    let mut stats = AttemptStats::default();
    loop {
        stats.attempts += 1;
        let failure = match once(kv, sink, Arc::clone(&body)) {
            Ok(published) => {
                stats.last_code = 0;
                return (stats, Ok(published));
            }
            Err(failure) => failure,
        };
        stats.last_code = failure.code();
        if !failure.is_retryable() || stats.retries >= policy.max_retries {
            return (stats, Err(failure));
        }
        sleep(policy.backoff(stats.retries));
        stats.retries += 1;
        if failure == Status::Conflict {
            stats.conflict_retries += 1;
        } else {
            stats.busy_retries += 1;
        }
    }
}

fn once<K, F>(kv: &K, sink: Sink, body: Arc<F>) -> Result<Vec<Published>, Status>
where
    K: Kv,
    F: Fn(&mut Attempt<'_, K::Tx>) -> Result<(), Status> + Send + Sync + 'static,
{
    let stack = kv.read(move |tx| {
        let mut stack = Stack::new();
        body(&mut Attempt::new(tx, &mut stack))?;
        stack.check_single()?;
        Ok(stack)
    })?;
    kv.write(move |tx| {
        stack.validate(tx)?;
        stack.apply(tx)?;
        stack.publish(tx, &sink)
    })
}
