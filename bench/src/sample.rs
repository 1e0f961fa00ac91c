//! What one side did in one window.

use std::ops::Add;
use std::time::Duration;

use crate::stopwatch::{Stopwatch, process_cpu};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sample {
    pub(crate) operations: u64,
    pub(crate) commits: u64,
    pub(crate) wall: Duration,
    /// Of this process; a peer that runs in its own has none.
    pub(crate) cpu: Option<Duration>,
}

impl Sample {
    /// Operations per second on the wall.
    pub(crate) fn rate(&self) -> f64 {
        count(self.operations) / self.wall.as_secs_f64()
    }

    /// Operations per second of CPU.
    pub(crate) fn cpu_rate(&self) -> Option<f64> {
        self.cpu
            .map(|cpu| count(self.operations) / cpu.as_secs_f64())
    }

    /// Microseconds of CPU per operation.
    pub(crate) fn cpu_micros(&self) -> Option<f64> {
        self.cpu_rate().map(|rate| 1e6 / rate)
    }

    pub(crate) fn per_commit(&self) -> Option<f64> {
        (self.commits > 0).then(|| count(self.operations) / count(self.commits))
    }
}

impl Add for Sample {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            operations: self.operations + other.operations,
            commits: self.commits + other.commits,
            wall: self.wall + other.wall,
            cpu: match (self.cpu, other.cpu) {
                (Some(one), Some(more)) => Some(one + more),
                (one, more) => one.or(more),
            },
        }
    }
}

/// The counters and clocks of this process at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    operations: u64,
    commits: u64,
    wall: Duration,
    cpu: Duration,
}

impl Reading {
    pub(crate) fn take(stopwatch: &Stopwatch, operations: u64, commits: u64) -> Self {
        Self {
            operations,
            commits,
            wall: stopwatch.elapsed(),
            cpu: process_cpu(),
        }
    }

    pub(crate) fn since(&self, earlier: &Self) -> Sample {
        Sample {
            operations: self.operations - earlier.operations,
            commits: self.commits - earlier.commits,
            wall: self.wall.saturating_sub(earlier.wall),
            cpu: Some(self.cpu.saturating_sub(earlier.cpu)),
        }
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "nobody counts to 2^53 in a minute"
)]
fn count(operations: u64) -> f64 {
    operations as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(operations: u64, commits: u64, wall_ms: u64, cpu_ms: Option<u64>) -> Sample {
        Sample {
            operations,
            commits,
            wall: Duration::from_millis(wall_ms),
            cpu: cpu_ms.map(Duration::from_millis),
        }
    }

    fn about(left: Option<f64>, right: f64) -> bool {
        left.is_some_and(|left| (left - right).abs() < 1e-6)
    }

    #[test]
    fn rates_are_per_second_of_their_own_clock() {
        let sample = sample(1_000, 10, 2_000, Some(500));
        assert!(about(Some(sample.rate()), 500.0));
        assert!(about(sample.cpu_rate(), 2_000.0));
        assert!(about(sample.cpu_micros(), 500.0));
        assert!(about(sample.per_commit(), 100.0));
    }

    #[test]
    fn what_was_not_counted_has_no_rate() {
        let sample = sample(1_000, 0, 1_000, None);
        assert_eq!(sample.per_commit(), None);
        assert_eq!(sample.cpu_micros(), None);
    }

    #[test]
    fn samples_add_up_part_by_part() {
        let sum = sample(1, 2, 3, Some(4)) + sample(10, 20, 30, Some(40));
        assert_eq!(sum, sample(11, 22, 33, Some(44)));
    }

    #[test]
    fn a_sample_is_what_lies_between_two_readings() {
        let reading = |operations, commits, ms: u64| Reading {
            operations,
            commits,
            wall: Duration::from_millis(ms),
            cpu: Duration::from_millis(ms / 2),
        };
        let sample_between = reading(70, 7, 100).since(&reading(20, 2, 40));
        assert_eq!(sample_between, sample(50, 5, 60, Some(30)));
    }
}
