//! The knobs of a runner.

/// How long claims last, how often a frame is tried, how long repetitions are remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long a claim excludes others.
    pub lease_ttl_ms: i64,
    /// How often one requeue looks for a free place at the tail.
    pub requeue_max_attempts: u32,
    /// How many failures make a dead letter.
    pub retry_budget_max: u32,
    /// How long a failed frame rests before its second attempt; doubled for each further one. 0 = not at all, as the
    /// seed has it.
    pub requeue_backoff_ms: i64,
    /// The longest rest.
    pub requeue_backoff_max_ms: i64,
    /// How long an accepted message id makes later ones repetitions; 0 = for ever.
    pub dedupe_window_ms: i64,
}

impl Policy {
    pub const DEFAULT: Self = Self {
        lease_ttl_ms: 1000,
        requeue_max_attempts: 4,
        retry_budget_max: 4,
        requeue_backoff_ms: 0,
        requeue_backoff_max_ms: 60_000,
        dedupe_window_ms: 0,
    };

    /// The same with the default in place of each value that cannot be meant.
    #[must_use]
    pub fn or_defaults(self) -> Self {
        let positive = |value: i64, default: i64| if value > 0 { value } else { default };
        let some = |value: u32, default: u32| if value > 0 { value } else { default };
        Self {
            lease_ttl_ms: positive(self.lease_ttl_ms, Self::DEFAULT.lease_ttl_ms),
            requeue_max_attempts: some(
                self.requeue_max_attempts,
                Self::DEFAULT.requeue_max_attempts,
            ),
            retry_budget_max: some(self.retry_budget_max, Self::DEFAULT.retry_budget_max),
            requeue_backoff_ms: self.requeue_backoff_ms.max(0),
            requeue_backoff_max_ms: positive(
                self.requeue_backoff_max_ms,
                Self::DEFAULT.requeue_backoff_max_ms,
            ),
            dedupe_window_ms: self.dedupe_window_ms.max(0),
        }
    }

    /// How long a frame rests after its `failures`th failure.
    pub fn backoff_ms(&self, failures: u32) -> i64 {
        let doublings = failures.saturating_sub(1).min(62);
        self.requeue_backoff_ms
            .saturating_mul(1 << doublings)
            .min(self.requeue_backoff_max_ms)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_cannot_be_meant_fall_back_one_by_one() {
        let policy = Policy {
            lease_ttl_ms: -1,
            retry_budget_max: 0,
            ..Policy::DEFAULT
        };
        assert_eq!(policy.or_defaults(), Policy::DEFAULT);
        let policy = Policy {
            lease_ttl_ms: 5,
            requeue_max_attempts: 0,
            ..Policy::DEFAULT
        };
        assert_eq!(
            policy.or_defaults(),
            Policy {
                lease_ttl_ms: 5,
                ..Policy::DEFAULT
            }
        );
    }

    #[test]
    fn backoff_doubles_up_to_its_end() {
        let policy = Policy {
            requeue_backoff_ms: 100,
            requeue_backoff_max_ms: 350,
            ..Policy::DEFAULT
        };
        assert_eq!(
            [1, 2, 3, 4, 200].map(|n| policy.backoff_ms(n)),
            [100, 200, 350, 350, 350]
        );
        assert_eq!(Policy::DEFAULT.backoff_ms(3), 0);
    }
}
