//! A runner: its state, its settings, and those who watch it.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StepRecord;
use super::emit::Meter;
use super::renew::{Held, LeaseKeeper};
use crate::boot::{self, MANIFEST, ManifestRow};
use crate::events::{LogEvent, ReplayEvent};
use crate::intents::Sink;
use crate::metrics::Metrics;
use crate::policy::Policy;
use crate::records::SchemaVersion;
use crate::{Handler, Kv, Status};

pub type MetricsSink = Arc<dyn Fn(&Metrics) + Send + Sync>;
pub type LogSink = Arc<dyn Fn(&LogEvent) + Send + Sync>;
pub type ReplayHook = Arc<dyn Fn(&ReplayEvent<'_>) + Send + Sync>;
pub type StepSink = Arc<dyn Fn(&StepRecord<'_>) + Send + Sync>;

/// Who the runner is and what it expects to find.
#[derive(Clone, Debug)]
pub struct RunnerConfig {
    /// The inbox it empties.
    pub worker: u64,
    /// The name on its leases. Two runners of one worker must have different ones.
    pub owner: u64,
    pub schema: SchemaVersion,
    /// Whether an empty store gets the schema marker, or is refused.
    pub bootstrap: bool,
    pub manifest: Vec<ManifestRow>,
    /// From where the intents of this runner are numbered.
    pub sink: Sink,
}

impl RunnerConfig {
    /// A runner of this worker that owns its leases by the same number and may start on an empty store.
    pub fn new(worker: u64) -> Self {
        Self {
            worker,
            owner: worker,
            schema: SchemaVersion::new(1, 0),
            bootstrap: true,
            manifest: MANIFEST.to_vec(),
            sink: Sink::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Stopped,
    Running,
}

/// Runs the frames of one worker with one handler. See the [module](crate::runner) for how.
pub struct Runner<K, H> {
    pub(super) kv: K,
    pub(super) handler: Arc<H>,
    pub(super) config: RunnerConfig,
    pub(super) meter: Meter,
    pub(super) held: Arc<Held>,
    pub(super) steps_completed: AtomicU64,
    /// One pass at a time: the claims being held are those of one pass.
    pub(super) passing: Mutex<()>,
    running: AtomicBool,
    policy: Mutex<Policy>,
    observers: Mutex<Observers>,
}

#[derive(Clone, Default)]
pub(super) struct Observers {
    pub(super) metrics: Option<MetricsSink>,
    pub(super) log: Option<LogSink>,
    pub(super) replay: Option<ReplayHook>,
    pub(super) steps: Option<StepSink>,
}

impl<K: Kv, H: Handler<K::Tx>> Runner<K, H> {
    /// A stopped runner.
    pub fn new(kv: K, handler: Arc<H>, config: RunnerConfig) -> Self {
        Self {
            kv,
            handler,
            config,
            meter: Meter::default(),
            held: Arc::default(),
            steps_completed: AtomicU64::new(0),
            passing: Mutex::new(()),
            running: AtomicBool::new(false),
            policy: Mutex::new(Policy::DEFAULT),
            observers: Mutex::default(),
        }
    }

    /// A running one, or why it cannot run.
    pub fn boot(kv: K, handler: Arc<H>, config: RunnerConfig) -> Result<Self, Status> {
        let runner = Self::new(kv, handler, config);
        runner.start()?;
        Ok(runner)
    }

    /// Checks the databases, then the schema, and runs. A failure leaves it stopped.
    pub fn start(&self) -> Result<(), Status> {
        boot::bootstrap_dbis(&self.kv, &self.config.manifest)?;
        boot::ensure_schema_version(&self.kv, self.config.schema, self.config.bootstrap)?;
        self.meter.reset();
        self.running.store(true, Ordering::Release);
        Ok(())
    }

    /// Every later step and poll answers [`Status::Busy`].
    pub fn shutdown(&self) {
        self.running.store(false, Ordering::Release);
    }

    pub fn state(&self) -> State {
        if self.running.load(Ordering::Acquire) {
            State::Running
        } else {
            State::Stopped
        }
    }

    pub fn kv(&self) -> &K {
        &self.kv
    }

    pub fn worker(&self) -> u64 {
        self.config.worker
    }

    /// How many steps succeeded and are committed.
    pub fn steps_completed(&self) -> u64 {
        self.steps_completed.load(Ordering::Relaxed)
    }

    pub fn policy(&self) -> Policy {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Values that cannot be meant fall back to their defaults, each by itself.
    pub fn set_policy(&self, policy: Policy) {
        *self.policy.lock().unwrap_or_else(PoisonError::into_inner) = policy.or_defaults();
    }

    pub fn metrics(&self) -> Metrics {
        self.meter.snapshot()
    }

    pub fn reset_metrics(&self) {
        self.meter.reset();
        self.send_metrics();
    }

    /// The sink gets a copy now, after every change and at every reset. It must not block nor call the runner.
    pub fn set_metrics_sink(&self, sink: Option<MetricsSink>) {
        self.watchers().metrics = sink;
        self.send_metrics();
    }

    pub fn set_log_sink(&self, sink: Option<LogSink>) {
        self.watchers().log = sink;
    }

    pub fn set_replay_hook(&self, hook: Option<ReplayHook>) {
        self.watchers().replay = hook;
    }

    /// The sink gets every committed step whole.
    pub fn set_step_sink(&self, sink: Option<StepSink>) {
        self.watchers().steps = sink;
    }

    /// A handle that renews the claims of the pass under way, from another thread.
    pub fn lease_keeper(&self) -> LeaseKeeper<K> {
        LeaseKeeper {
            kv: self.kv.clone(),
            held: Arc::clone(&self.held),
        }
    }

    pub(crate) fn log(&self, event: &LogEvent) {
        if let Some(sink) = self.observers().log {
            sink(event);
        }
    }

    pub(super) fn observers(&self) -> Observers {
        self.watchers().clone()
    }

    fn watchers(&self) -> MutexGuard<'_, Observers> {
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn send_metrics(&self) {
        if let Some(sink) = self.observers().metrics {
            sink(&self.meter.snapshot());
        }
    }
}

impl<K, H> fmt::Debug for Runner<K, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
