//! How a job is to be treated: retry, priority, timeouts. Values, never code paths of a door.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Trigger;

/// What happens by itself after a job failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "retry")]
pub enum Retry {
    /// Bench: a failed benchmark is signal.
    Never,
    /// Action: the same row goes back to pending, up to `max` times.
    SameJob { max: u32 },
    /// Runtime: a new row that names the old one, only when the runner was lost, up to `max` times.
    NewJob { max: u32 },
}

/// What to do now about a job that just failed or was abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryDecision {
    Nothing,
    /// Back to pending, with one more retry counted.
    Requeue,
    /// A linked copy.
    Resubmit,
}

impl Retry {
    /// The default of the compute seed.
    pub const DEFAULT_ACTION: Self = Self::SameJob { max: 3 };
    /// The rule of the runtime seed: one automatic retry.
    pub const DEFAULT_RUNTIME: Self = Self::NewJob { max: 1 };

    /// `count` is how often this job (or the chain of rows it continues) was retried before.
    pub const fn after(self, cause: Trigger, count: u32) -> RetryDecision {
        match self {
            Self::SameJob { max } if count < max => RetryDecision::Requeue,
            Self::NewJob { max } if count < max && cause.is_lost_contact() => {
                RetryDecision::Resubmit
            }
            Self::Never | Self::SameJob { .. } | Self::NewJob { .. } => RetryDecision::Nothing,
        }
    }
}

/// Larger goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub i32);

impl Priority {
    pub const ENTERPRISE: Self = Self(300);
    pub const TEAM: Self = Self(200);
    pub const FREE: Self = Self(100);
    pub const UNCLAIMED: Self = Self(0);
}

/// The times of a job's life, fixed at submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// How long the execution may take.
    pub run: Duration,
    /// How much longer the server waits for the result before it cancels.
    pub grace: Duration,
    /// How long a runner may be silent.
    pub lease: Duration,
    /// How long a claimed job may take to start.
    pub set_up: Duration,
    /// How long it may wait for a runner; `None` is for ever.
    pub pending: Option<Duration>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bench_is_never_retried() {
        assert_eq!(
            Retry::Never.after(Trigger::LostContact, 0),
            RetryDecision::Nothing
        );
    }

    #[test]
    fn an_action_goes_back_to_the_queue_until_its_limit() {
        let policy = Retry::DEFAULT_ACTION;
        for count in 0..3 {
            assert_eq!(policy.after(Trigger::Fail, count), RetryDecision::Requeue);
        }
        assert_eq!(policy.after(Trigger::Fail, 3), RetryDecision::Nothing);
    }

    #[test]
    fn a_runtime_job_is_copied_once_and_only_when_its_runner_was_lost() {
        let policy = Retry::DEFAULT_RUNTIME;
        assert_eq!(
            policy.after(Trigger::LostContact, 0),
            RetryDecision::Resubmit
        );
        assert_eq!(
            policy.after(Trigger::LostContact, 1),
            RetryDecision::Nothing
        );
        assert_eq!(policy.after(Trigger::Fail, 0), RetryDecision::Nothing);
    }
}
