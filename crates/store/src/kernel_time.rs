//! Kernel time: a time line that never jumps and never goes back.
//!
//! On `SQLite` it is a persisted high-water mark plus the monotonic time since this process opened the store. The mark
//! is written ahead: the stored value is always later than any time a committed transaction saw, so a crash can make
//! kernel time skip [`RESERVE`] at most, and never repeat. On PostgreSQL it is the database's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use kiln_model::{Clock, Millis};

/// How far the stored mark runs ahead, and so how often it is written at most.
pub(crate) const RESERVE: i64 = 1_000;

#[derive(Debug)]
pub(crate) struct KernelTime {
    clock: Arc<dyn Clock>,
    /// Kernel time minus monotonic time.
    offset: AtomicI64,
    /// The latest time given out.
    floor: AtomicI64,
    /// The mark in the database: times before it need no new mark.
    reserved: AtomicI64,
    /// How many transactions lie on it.
    commits: AtomicU64,
}

impl KernelTime {
    /// Continues the time line from a stored mark.
    pub(crate) fn resume(clock: Arc<dyn Clock>, mark: Millis) -> Self {
        let offset = mark.0.saturating_sub(clock.monotonic().0);
        Self {
            clock,
            offset: AtomicI64::new(offset),
            floor: AtomicI64::new(mark.0),
            reserved: AtomicI64::new(mark.0),
            commits: AtomicU64::new(0),
        }
    }

    pub(crate) fn now(&self) -> Millis {
        self.advance(
            self.offset
                .load(Ordering::Relaxed)
                .saturating_add(self.clock.monotonic().0),
        )
    }

    /// Takes the database's clock as the truth, unless it went back.
    pub(crate) fn observe(&self, database: Millis) -> Millis {
        self.offset.store(
            database.0.saturating_sub(self.clock.monotonic().0),
            Ordering::Relaxed,
        );
        self.advance(database.0)
    }

    pub(crate) fn wall(&self) -> Millis {
        self.clock.wall()
    }

    /// The mark that a transaction at `now` must write, if the stored one does not cover it.
    pub(crate) fn next_mark(&self, now: Millis) -> Option<Millis> {
        (now.0 >= self.reserved.load(Ordering::Relaxed))
            .then_some(Millis(now.0.saturating_add(RESERVE)))
    }

    /// A transaction is committed, and with it the mark that it wrote.
    pub(crate) fn committed(&self, mark: Option<Millis>) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        if let Some(mark) = mark {
            self.reserved.fetch_max(mark.0, Ordering::Relaxed);
        }
    }

    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    fn advance(&self, time: i64) -> Millis {
        Millis(self.floor.fetch_max(time, Ordering::Relaxed).max(time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ManualClock;

    #[test]
    fn time_goes_on_from_the_mark_by_monotonic_steps_only() {
        let clock = Arc::new(ManualClock::default());
        clock.advance(500);
        let time = KernelTime::resume(clock.clone(), Millis(7_000));
        assert_eq!(time.now(), Millis(7_000));
        clock.jump_wall(3_600_000);
        assert_eq!(time.now(), Millis(7_000));
        clock.advance(10);
        assert_eq!(time.now(), Millis(7_010));
    }

    #[test]
    fn a_database_clock_that_goes_back_does_not_take_kernel_time_with_it() {
        let time = KernelTime::resume(Arc::new(ManualClock::default()), Millis::ZERO);
        assert_eq!(time.observe(Millis(5_000)), Millis(5_000));
        assert_eq!(time.observe(Millis(4_000)), Millis(5_000));
        assert_eq!(time.now(), Millis(5_000));
    }

    #[test]
    fn a_mark_covers_every_time_before_it() {
        let time = KernelTime::resume(Arc::new(ManualClock::default()), Millis(100));
        assert_eq!(time.next_mark(Millis(100)), Some(Millis(1_100)));
        time.committed(Some(Millis(1_100)));
        assert_eq!(time.next_mark(Millis(1_099)), None);
        assert_eq!(time.next_mark(Millis(1_100)), Some(Millis(2_100)));
    }
}
