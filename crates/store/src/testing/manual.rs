//! Time and randomness in the hands of a test.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use kiln_model::{Clock, Entropy, Millis};

/// A clock that stands still until it is moved. The wall clock starts at a round moment of 2027.
#[derive(Debug)]
pub struct ManualClock {
    monotonic: AtomicI64,
    wall: AtomicI64,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self {
            monotonic: AtomicI64::new(0),
            wall: AtomicI64::new(1_800_000_000_000),
        }
    }
}

impl ManualClock {
    /// Lets time pass on both clocks.
    pub fn advance(&self, millis: i64) {
        assert!(millis >= 0, "a monotonic clock does not go back");
        self.monotonic.fetch_add(millis, Ordering::SeqCst);
        self.wall.fetch_add(millis, Ordering::SeqCst);
    }

    /// Sets the wall clock forward or back, as a person or a time server would.
    pub fn jump_wall(&self, millis: i64) {
        self.wall.fetch_add(millis, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn wall(&self) -> Millis {
        Millis(self.wall.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Millis {
        Millis(self.monotonic.load(Ordering::SeqCst))
    }
}

/// The same bytes for the same seed.
#[derive(Debug)]
pub struct SeededEntropy {
    state: AtomicU64,
}

impl SeededEntropy {
    pub fn new(seed: u64) -> Self {
        Self {
            state: AtomicU64::new(seed),
        }
    }

    /// `SplitMix64`: every state has one successor, so no seed leads into a short cycle.
    fn next(&self) -> u64 {
        const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
        let mut z = self
            .state
            .fetch_add(STEP, Ordering::SeqCst)
            .wrapping_add(STEP);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next().to_le_bytes()[..chunk.len()]);
        }
    }
}
