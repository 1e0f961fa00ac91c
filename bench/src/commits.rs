//! Counting a store's transactions from outside.

use std::sync::atomic::{AtomicU64, Ordering};

use kiln_model::{Clock, Millis};
use kiln_store::SystemClock;

/// The real clock, which counts how often it is asked for the wall time. A store asks once for every transaction it
/// begins, as [`kiln_store::Tx::wall`] promises; in a measurement that only writes, each of them ends in one commit.
#[derive(Debug, Default)]
pub(crate) struct CountingClock {
    real: SystemClock,
    begun: AtomicU64,
}

impl CountingClock {
    pub(crate) fn commits(&self) -> u64 {
        self.begun.load(Ordering::Relaxed)
    }
}

impl Clock for CountingClock {
    fn wall(&self) -> Millis {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.real.wall()
    }

    fn monotonic(&self) -> Millis {
        self.real.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use kiln_store::{Error, Store, StoreConfig, SystemEntropy, Tx};

    use super::*;

    #[test]
    fn closures_that_are_waited_for_one_by_one_are_one_commit_each() {
        let clock = Arc::new(CountingClock::default());
        let config = StoreConfig::new("sqlite::memory:", clock.clone(), Arc::new(SystemEntropy));
        let store = Store::open(&config).unwrap();
        let before = clock.commits();
        for _ in 0..3 {
            let pending = store.ledger.submit(|_: &mut dyn Tx| Ok::<_, Error>(()));
            pending.wait().unwrap();
        }
        assert_eq!(clock.commits() - before, 3);
        store.close();
    }
}
