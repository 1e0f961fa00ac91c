//! The one place where the host's clocks and its randomness are read.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use kiln_model::{Clock, Entropy, Millis};

/// The host's clocks.
#[derive(Debug)]
pub struct SystemClock {
    started: Instant,
}

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the real clock")]
    pub fn new() -> Self {
        Self {
            started: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the real clock")]
    fn wall(&self) -> Millis {
        // A host whose clock stands before 1970 is recorded as standing at 1970.
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Millis::ZERO + since
    }

    fn monotonic(&self) -> Millis {
        Millis::ZERO + self.started.elapsed()
    }
}

/// The kernel's random source.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut filled = 0;
        while filled < bytes.len() {
            // getrandom can be interrupted by a signal or answer short; it fails in no other way once the pool is up.
            if let Ok(count) =
                rustix::rand::getrandom(&mut bytes[filled..], rustix::rand::GetRandomFlags::empty())
            {
                filled += count;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_draws_differ() {
        let (mut a, mut b) = ([0; 32], [0; 32]);
        SystemEntropy.fill(&mut a);
        SystemEntropy.fill(&mut b);
        assert_ne!(a, b);
    }

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let clock = SystemClock::new();
        let first = clock.monotonic();
        assert!(clock.monotonic() >= first);
    }
}
