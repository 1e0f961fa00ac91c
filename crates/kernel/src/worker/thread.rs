//! The thread of a worker: tick, sleep, until told to stop.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::shell::{OnError, Worker, lock};
use crate::{Handler, Kv, Status};

/// What [`Worker::start`] started.
#[derive(Debug, Default)]
pub(super) struct Threads {
    running: Vec<JoinHandle<()>>,
}

impl<K: Kv, H: Handler<K::Tx>> Worker<K, H> {
    /// Polls on a thread of its own. Started already is [`Status::Busy`].
    pub fn start(&self) -> Result<(), Status> {
        let mut threads = lock(&self.shared.threads);
        if !threads.running.is_empty() {
            return Err(Status::Busy);
        }
        self.shared.runner.start()?;
        self.shared.stop.store(false, Ordering::Release);
        let id = self.shared.runner.worker();
        let worker = self.clone();
        threads
            .running
            .push(spawn("poll", id, move || worker.run())?);
        if self.shared.keep_leases {
            let worker = self.clone();
            let keeper = spawn("leases", id, move || worker.keep_leases());
            threads
                .running
                .push(keeper.inspect_err(|_| self.request_stop())?);
        }
        Ok(())
    }

    /// Waits until the thread has ended: by [`Worker::request_stop`], or by an error it does not survive.
    pub fn join(&self) {
        let threads = std::mem::take(&mut lock(&self.shared.threads).running);
        for thread in threads {
            // A panic there has been reported by the runtime; there is nothing to add.
            thread.join().ok();
        }
    }

    /// What the thread does again and again: one tick. Answers how long to rest after it, or that an error which the worker
    /// does not survive ends it here.
    pub fn round(&self) -> ControlFlow<(), Duration> {
        let shared = &self.shared;
        let looked_at = shared.time.now();
        let polled = self.tick();
        let rest = match polled.failure {
            None if polled.processed > 0 => Duration::ZERO,
            None => self.rest_after(looked_at),
            Some(Status::Busy) => self.rest_after(looked_at).max(Duration::from_millis(1)),
            Some(_) if shared.on_error == OnError::Survive => shared.max_idle(),
            Some(_) => return ControlFlow::Break(()),
        };
        ControlFlow::Continue(rest)
    }

    fn run(&self) {
        let shared = Arc::clone(&self.shared);
        while !shared.stop.load(Ordering::Acquire)
            && let ControlFlow::Continue(rest) = self.round()
        {
            if !rest.is_zero() {
                shared.time.sleep(rest);
            }
        }
        shared.stop.store(true, Ordering::Release);
        shared.runner.shutdown();
    }

    /// A timer that was due when we looked and was passed over (another worker's, or leased) is no reason to look again
    /// at once.
    fn rest_after(&self, looked_at: kiln_model::Millis) -> Duration {
        match self.next_due() {
            Ok(next) => {
                let ours = next.filter(|next| *next > looked_at);
                self.shared.idle_sleep(self.shared.time.now(), ours)
            }
            Err(_) => self.shared.max_idle(),
        }
    }

    /// Looks four times per lease, so that a claim that is half through its time is renewed well before its end.
    fn keep_leases(&self) {
        let keeper = self.shared.runner.lease_keeper();
        while !self.shared.stop.load(Ordering::Acquire) {
            let ttl = self
                .shared
                .runner
                .policy()
                .lease_ttl_ms
                .max(4)
                .unsigned_abs();
            self.shared.time.sleep(Duration::from_millis(ttl / 4));
            // A renewal that fails is tried again; if it never succeeds, the token check refuses the commit.
            keeper.renew(self.shared.time.now()).ok();
        }
    }
}

fn spawn(
    role: &str,
    worker: u64,
    run: impl FnOnce() + Send + 'static,
) -> Result<JoinHandle<()>, Status> {
    thread::Builder::new()
        .name(format!("kernel-{role}-{worker}"))
        .spawn(run)
        .map_err(|error| Status::Error(format!("no thread for worker {worker}: {error}")))
}
