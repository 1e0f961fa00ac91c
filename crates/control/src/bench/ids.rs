//! Ids for things whose number is known only inside a transaction.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use kiln_model::Entropy;
use sha2::{Digest as _, Sha256};

/// Random bytes that follow from a random seed: a transaction that runs again, or is replayed, gives the same ids.
pub struct Ids {
    seed: String,
    next: AtomicU64,
}

impl Ids {
    /// `seed` is used once: a freshly minted id of the request or the report.
    pub fn new(seed: impl fmt::Display) -> Self {
        Self {
            seed: seed.to_string(),
            next: AtomicU64::new(0),
        }
    }
}

impl Entropy for Ids {
    fn fill(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(32) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let hash = Sha256::new()
                .chain_update(self.seed.as_bytes())
                .chain_update(number.to_le_bytes())
                .finalize();
            chunk.copy_from_slice(&hash[..chunk.len()]);
        }
    }
}

impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use kiln_model::{MetricUuid, Millis};

    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_ids_and_no_two_are_alike() {
        let mint = |seed| {
            let ids = Ids::new(seed);
            [(); 2].map(|()| MetricUuid::mint(Millis(1), &ids))
        };
        assert_eq!(mint("a"), mint("a"));
        let [first, second] = mint("a");
        assert_ne!(first, second);
        assert_ne!(mint("a"), mint("b"));
    }
}
