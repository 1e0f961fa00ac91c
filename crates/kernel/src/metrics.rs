//! Reliability counters of a runner.

/// All counters since the start or the last reset. They stop at their largest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    pub step_attempts: u64,
    pub step_successes: u64,
    pub retryable_failures: u64,
    pub conflict_failures: u64,
    pub busy_failures: u64,
    pub non_retryable_failures: u64,
    pub requeues: u64,
    pub dead_letter_moves: u64,
    pub step_latency_samples: u64,
    pub step_latency_total_ms: u64,
    pub step_latency_max_ms: u64,
    /// Steps whose claim was gone when they wanted to commit; they changed nothing and count nowhere else.
    pub lost_claims: u64,
}

impl Metrics {
    pub(crate) fn add(&mut self, other: &Self) {
        let sums = [
            (&mut self.step_attempts, other.step_attempts),
            (&mut self.step_successes, other.step_successes),
            (&mut self.retryable_failures, other.retryable_failures),
            (&mut self.conflict_failures, other.conflict_failures),
            (&mut self.busy_failures, other.busy_failures),
            (
                &mut self.non_retryable_failures,
                other.non_retryable_failures,
            ),
            (&mut self.requeues, other.requeues),
            (&mut self.dead_letter_moves, other.dead_letter_moves),
            (&mut self.step_latency_samples, other.step_latency_samples),
            (&mut self.step_latency_total_ms, other.step_latency_total_ms),
            (&mut self.lost_claims, other.lost_claims),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
        self.step_latency_max_ms = self.step_latency_max_ms.max(other.step_latency_max_ms);
    }
}
