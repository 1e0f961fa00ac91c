//! The same small piece of work, again and again: how long it takes each time tells how still its core is.

#![expect(
    clippy::disallowed_methods,
    reason = "time is what is measured here; no decision is taken by this clock"
)]

use std::fs;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Long enough that reading the clock does not count, short enough that most rounds meet nobody.
const ROUND: Duration = Duration::from_micros(15);

/// What was measured on one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    pub involuntary_switches: u64,
    /// How long each took, in nanoseconds.
    pub nanos: Vec<u64>,
}

impl Rounds {
    /// Works for so long, wherever this thread is.
    pub fn measure(span: Duration) -> Self {
        let steps = calibrate();
        let switches = involuntary_switches();
        let mut nanos = Vec::with_capacity(1 << 16);
        let all = Instant::now();
        while all.elapsed() < span {
            let round = Instant::now();
            work(steps);
            nanos.push(as_nanos(round.elapsed()));
        }
        Self {
            involuntary_switches: involuntary_switches().saturating_sub(switches),
            nanos,
        }
    }

    /// Little-endian numbers, the switches first.
    pub fn to_bytes(&self) -> Vec<u8> {
        let numbers = [self.involuntary_switches].into_iter();
        let numbers = numbers.chain(self.nanos.iter().copied());
        numbers.flat_map(u64::to_le_bytes).collect()
    }

    /// `None` for anything but whole numbers with the switches first.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (numbers, []) = bytes.as_chunks::<8>() else {
            return None;
        };
        let mut numbers = numbers.iter().copied().map(u64::from_le_bytes);
        Some(Self {
            involuntary_switches: numbers.next()?,
            nanos: numbers.collect(),
        })
    }
}

/// How many steps make a round on this CPU, by its best of several tries.
fn calibrate() -> u64 {
    const STEPS: u64 = 10_000;
    let best = (0..8)
        .map(|_| {
            let start = Instant::now();
            work(STEPS);
            start.elapsed()
        })
        .min()
        .unwrap_or(ROUND);
    (STEPS * as_nanos(ROUND) / as_nanos(best).max(1)).max(1)
}

/// Integer arithmetic that depends on itself, so that nothing but the clock and interruptions decide its time.
fn work(steps: u64) {
    let mut value = black_box(0x9e37_79b9_7f4a_7c15_u64);
    for _ in 0..steps {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
}

fn as_nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

fn involuntary_switches() -> u64 {
    let status = fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    line.and_then(|count| count.trim().parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_measured_survives_the_way_to_another_process() {
        let rounds = Rounds {
            involuntary_switches: 3,
            nanos: vec![15_000, u64::MAX],
        };
        let bytes = rounds.to_bytes();
        assert_eq!(Rounds::from_bytes(&bytes), Some(rounds));
        assert_eq!(Rounds::from_bytes(&bytes[1..]), None);
        assert_eq!(Rounds::from_bytes(&[]), None);
    }

    #[test]
    fn something_is_measured_in_any_time_at_all() {
        assert!(!Rounds::measure(Duration::from_millis(1)).nanos.is_empty());
    }
}
