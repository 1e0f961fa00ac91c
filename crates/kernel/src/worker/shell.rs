//! One worker, tick by tick.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kiln_model::Millis;

use super::thread::Threads;
use super::{Gate, Time};
use crate::events::{LogEvent, LogKind};
use crate::policy::Policy;
use crate::runner::Polled;
use crate::{Handler, Kv, Runner, RunnerConfig, Status, scheduler, timers};

/// What the thread of a worker does after an error that no retry deals with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Ends, as the seed has it: whoever runs the worker decides.
    #[default]
    Stop,
    /// Goes on after an idle sleep: what a server wants, which has other messages to run.
    Survive,
}

#[derive(Clone, Debug)]
pub struct WorkerConfig {
    pub runner: RunnerConfig,
    /// How many frames one tick runs, inbox and timers together; 0 means 1. Frames of one pass are prepared one after the
    /// other and settled together: a worker whose first halves are slow wants a small one.
    pub max_batch: usize,
    pub on_error: OnError,
    /// Whether the thread has a second one beside it that renews leases while handlers prepare.
    pub keep_leases: bool,
}

impl WorkerConfig {
    pub fn new(worker: u64) -> Self {
        Self {
            runner: RunnerConfig::new(worker),
            max_batch: crate::runner::BATCH,
            on_error: OnError::Stop,
            keep_leases: false,
        }
    }
}

/// A runner with everything it needs to be scheduled. Clones are the same worker.
pub struct Worker<K, H> {
    pub(super) shared: Arc<Shared<K, H>>,
}

pub(super) struct Shared<K, H> {
    pub(super) runner: Runner<K, H>,
    pub(super) time: Arc<dyn Time>,
    pub(super) on_error: OnError,
    pub(super) keep_leases: bool,
    pub(super) stop: AtomicBool,
    pub(super) threads: Mutex<Threads>,
    max_batch: usize,
    max_idle_ms: AtomicU32,
    ticks: AtomicU64,
    /// The inbox used up a whole tick, so the timers come first in the next one.
    timers_first: AtomicBool,
    gate: Mutex<Option<Gate>>,
    last_error: Mutex<Option<Status>>,
}

impl<K: Kv, H: Handler<K::Tx>> Worker<K, H> {
    /// Boots the runner of a worker; see [`Runner::boot`].
    pub fn init(
        kv: K,
        handler: Arc<H>,
        config: WorkerConfig,
        time: Arc<dyn Time>,
    ) -> Result<Self, Status> {
        let runner = Runner::boot(kv, handler, config.runner)?;
        let shared = Shared {
            runner,
            time,
            on_error: config.on_error,
            keep_leases: config.keep_leases,
            stop: AtomicBool::new(false),
            threads: Mutex::default(),
            max_batch: config.max_batch.max(1),
            max_idle_ms: AtomicU32::new(1),
            ticks: AtomicU64::new(0),
            timers_first: AtomicBool::new(false),
            gate: Mutex::default(),
            last_error: Mutex::default(),
        };
        Ok(Self {
            shared: Arc::new(shared),
        })
    }

    pub fn runner(&self) -> &Runner<K, H> {
        &self.shared.runner
    }

    pub fn set_policy(&self, policy: Policy) {
        self.shared.runner.set_policy(policy);
    }

    /// How long the thread sleeps at most when there is nothing to do; 0 means 1 ms.
    pub fn set_idle_policy(&self, max_idle_ms: u32) {
        self.shared
            .max_idle_ms
            .store(max_idle_ms.max(1), Ordering::Relaxed);
    }

    /// Shares a gate with other workers: a tick and a look for due timers hold it.
    pub fn set_gate(&self, gate: Option<Gate>) {
        *lock(&self.shared.gate) = gate;
    }

    /// How many ticks ended without a failure.
    pub fn ticks(&self) -> u64 {
        self.shared.ticks.load(Ordering::Relaxed)
    }

    /// The last failure that was not transient. Later good ticks do not clear it.
    pub fn last_error(&self) -> Option<Status> {
        lock(&self.shared.last_error).clone()
    }

    /// Runs what is there, up to the batch size: the inbox, then due timers.
    ///
    /// [`Status::NotFound`] and [`Status::Conflict`] become [`Status::Busy`]: somebody was in the way, come again. When
    /// the inbox alone fills a tick, the next one starts with the timers, so that neither starves.
    pub fn tick(&self) -> Polled {
        let shared = &*self.shared;
        if shared.stop.load(Ordering::Acquire) {
            return Polled {
                processed: 0,
                failure: Some(Status::Busy),
            };
        }
        let gate = lock(&shared.gate).clone();
        let _inside = gate.as_ref().map(Gate::enter);
        let mut polled = shared.run_batch();
        match &polled.failure {
            None => {
                shared.ticks.fetch_add(1, Ordering::Relaxed);
            }
            Some(Status::Busy) => {}
            Some(Status::NotFound | Status::Conflict) => polled.failure = Some(Status::Busy),
            Some(failure) => {
                *lock(&shared.last_error) = Some(failure.clone());
                shared.log_error(failure, polled.processed);
            }
        }
        polled
    }

    /// How long there will be nothing to do: until the next timer, and not longer than the idle policy allows.
    pub fn idle_sleep(&self) -> Result<Duration, Status> {
        let now = self.shared.time.now();
        Ok(self.shared.idle_sleep(now, self.next_due()?))
    }

    /// Asks the thread to end after its current tick; every later tick is [`Status::Busy`].
    pub fn request_stop(&self) {
        self.shared.stop.store(true, Ordering::Release);
    }

    /// Stops the thread, waits for it, and stops the runner.
    pub fn shutdown(&self) {
        self.request_stop();
        self.join();
        self.shared.runner.shutdown();
    }

    pub(super) fn next_due(&self) -> Result<Option<Millis>, Status> {
        let gate = lock(&self.shared.gate).clone();
        let _inside = gate.as_ref().map(Gate::enter);
        self.shared.runner.kv().read(timers::next_due)
    }
}

impl<K: Kv, H: Handler<K::Tx>> Shared<K, H> {
    pub(super) fn max_idle(&self) -> Duration {
        Duration::from_millis(u64::from(self.max_idle_ms.load(Ordering::Relaxed)))
    }

    pub(super) fn idle_sleep(&self, now: Millis, next: Option<Millis>) -> Duration {
        let cap = self.max_idle_ms.load(Ordering::Relaxed);
        next.map_or_else(
            || self.max_idle(),
            |next| Duration::from_millis(u64::from(scheduler::sleep_ms(now, next, cap))),
        )
    }

    fn run_batch(&self) -> Polled {
        let clock = || self.time.now();
        let max = self.max_batch;
        if self.timers_first.swap(false, Ordering::Relaxed) {
            let timers = self.runner.poll_timers(max, &clock);
            let inbox = self
                .runner
                .poll_inbox(max.saturating_sub(timers.processed), &clock);
            return both(timers, inbox);
        }
        let inbox = self.runner.poll_inbox(max, &clock);
        if inbox.processed >= max {
            self.timers_first.store(true, Ordering::Relaxed);
            return inbox;
        }
        let timers = self.runner.poll_timers(max - inbox.processed, &clock);
        both(inbox, timers)
    }

    fn log_error(&self, failure: &Status, processed: usize) {
        self.runner.log(&LogEvent {
            kind: LogKind::WorkerError,
            worker: self.runner.worker(),
            seq: 0,
            code: failure.code(),
            detail: u32::try_from(processed).unwrap_or(u32::MAX),
            at: self.time.now(),
            text: failure.to_string(),
        });
    }
}

impl<K, H> Clone for Worker<K, H> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl<K, H> fmt::Debug for Worker<K, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker")
            .field("runner", &self.shared.runner)
            .finish_non_exhaustive()
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn both(first: Polled, second: Polled) -> Polled {
    Polled {
        processed: first.processed + second.processed,
        failure: first.failure.or(second.failure),
    }
}
