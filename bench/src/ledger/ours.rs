//! Our own side: many threads, each waiting for its closure before it hands in the next.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use kiln_store::{Ledger, Store, StoreConfig, SystemClock, SystemEntropy, Tx};

use super::{WRITERS, Writing, workload};
use crate::failure::Failure;
use crate::sample::{Reading, Sample};
use crate::stopwatch::Stopwatch;
use crate::window::Window;

pub(super) struct Ours {
    store: Store,
    /// Closures committed so far, in all rounds.
    done: AtomicU64,
}

impl Ours {
    pub(super) fn open(place: &Path) -> Result<Self, Failure> {
        let clock = Arc::new(SystemClock::new());
        let path = place.join("ours.db").display().to_string();
        let config = StoreConfig::new(path, clock, Arc::new(SystemEntropy));
        let store = Store::open(&config)?;
        store
            .ledger
            .submit(|tx: &mut dyn Tx| workload::prepare(tx))
            .wait()?;
        Ok(Self {
            store,
            done: AtomicU64::new(0),
        })
    }

    fn write_until(&self, stop: &AtomicBool, writer: u16) -> Result<(), Failure> {
        let ledger: &Ledger = &self.store.ledger;
        let mut number = i64::from(writer);
        while !stop.load(Ordering::Relaxed) {
            let pending = ledger.submit(move |tx: &mut dyn Tx| workload::closure(tx, number));
            pending.wait()?;
            self.done.fetch_add(1, Ordering::Relaxed);
            number += i64::from(WRITERS);
        }
        Ok(())
    }

    fn read(&self, stopwatch: &Stopwatch) -> Reading {
        let done = self.done.load(Ordering::Relaxed);
        Reading::take(stopwatch, done, self.store.ledger.commits())
    }
}

impl Writing for Ours {
    fn name(&self) -> &'static str {
        "ours: the ledger, 64 threads"
    }

    fn run(&mut self, window: Window) -> Result<Sample, Failure> {
        let this: &Self = self;
        let stop = &AtomicBool::new(false);
        thread::scope(|scope| {
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| scope.spawn(move || this.write_until(stop, writer)))
                .collect();
            let stopwatch = Stopwatch::start();
            stopwatch.wait_until(window.warm_up);
            let before = this.read(&stopwatch);
            stopwatch.wait_until(window.warm_up + window.measured);
            let after = this.read(&stopwatch);
            stop.store(true, Ordering::Relaxed);
            for writer in writers {
                writer.join().expect("a writer does not panic")?;
            }
            Ok(after.since(&before))
        })
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.store.close();
    }
}
