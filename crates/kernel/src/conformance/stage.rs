//! What the behaviours are played with: a scripted handler, a clock moved by hand, sinks that remember.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kiln_model::Millis;

use crate::events::{LogEvent, ReplayEvent};
use crate::kv::Pair;
use crate::runner::Polled;
use crate::{
    Dbi, Handler, InboxKey, Kind, Kv, KvTx, Message, MessageView, Preparing, Runner, RunnerConfig,
    Status, Step, Time, TimerKey, Worker, WorkerConfig, dead_letters, inbox, timers,
};

pub(super) const WORKER: u64 = 7;

type Prepare = Box<dyn Fn(&MessageView<'_>, &Preparing<'_>) -> Result<(), Status> + Send + Sync>;
type Apply =
    Box<dyn Fn(&MessageView<'_>, &mut dyn KvTx, &mut Step) -> Result<(), Status> + Send + Sync>;

/// A handler for any store that remembers which messages it ran.
pub(super) struct Script {
    calls: Mutex<Vec<String>>,
    prepare: Prepare,
    apply: Apply,
}

impl Script {
    pub(super) fn new(
        apply: impl Fn(&MessageView<'_>, &mut dyn KvTx, &mut Step) -> Result<(), Status>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        Self::with_prepare(|_, _| Ok(()), apply)
    }

    pub(super) fn with_prepare(
        prepare: impl Fn(&MessageView<'_>, &Preparing<'_>) -> Result<(), Status> + Send + Sync + 'static,
        apply: impl Fn(&MessageView<'_>, &mut dyn KvTx, &mut Step) -> Result<(), Status>
        + Send
        + Sync
        + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            calls: Mutex::default(),
            prepare: Box::new(prepare),
            apply: Box::new(apply),
        })
    }

    pub(super) fn succeeds() -> Arc<Self> {
        Self::new(|_, _, _| Ok(()))
    }

    pub(super) fn fails(status: Status) -> Arc<Self> {
        Self::new(move |_, _, _| Err(status.clone()))
    }

    /// Fails each message once, then succeeds.
    pub(super) fn fails_once(status: Status) -> Arc<Self> {
        Self::new(move |_, _, step| {
            if step.attempt() == 1 {
                Err(status.clone())
            } else {
                Ok(())
            }
        })
    }

    /// The ids of the messages that reached the second half, in order.
    pub(super) fn calls(&self) -> Vec<String> {
        lock(&self.calls).clone()
    }
}

impl<T: KvTx + ?Sized> Handler<T> for Script {
    type Prepared = ();

    fn prepare(&self, message: &MessageView<'_>, preparing: &Preparing<'_>) -> Result<(), Status> {
        (self.prepare)(message, preparing)
    }

    fn apply(
        &self,
        (): &(),
        message: &MessageView<'_>,
        mut tx: &mut T,
        step: &mut Step,
    ) -> Result<(), Status> {
        lock(&self.calls).push(String::from_utf8_lossy(message.id).into_owned());
        (self.apply)(message, &mut tx, step)
    }
}

/// A runner of worker 7 and everything it told.
pub(super) struct Stage<K> {
    pub(super) kv: K,
    pub(super) runner: Runner<K, Script>,
    pub(super) script: Arc<Script>,
    told: Arc<Told>,
}

/// What sinks remember.
#[derive(Default)]
pub(super) struct Told {
    replay: Mutex<Vec<(u8, u64)>>,
    log: Mutex<Vec<(u8, u64, u32)>>,
}

impl Told {
    pub(super) fn listen<K: Kv>(self: &Arc<Self>, runner: &Runner<K, Script>) {
        let told = Arc::clone(self);
        runner.set_replay_hook(Some(Arc::new(move |event: &ReplayEvent<'_>| {
            lock(&told.replay).push((event.kind.code(), event.seq));
        })));
        let told = Arc::clone(self);
        runner.set_log_sink(Some(Arc::new(move |event: &LogEvent| {
            lock(&told.log).push((event.kind.code(), event.seq, event.detail));
        })));
    }

    /// Kind and sequence of every replay event.
    pub(super) fn replay(&self) -> Vec<(u8, u64)> {
        lock(&self.replay).clone()
    }

    /// Kind and detail of every log event.
    pub(super) fn log(&self) -> Vec<(u8, u32)> {
        lock(&self.log)
            .iter()
            .map(|(kind, _, detail)| (*kind, *detail))
            .collect()
    }
}

impl<K: Kv> Stage<K> {
    pub(super) fn new(kv: &K, script: Arc<Script>) -> Self {
        let runner = Runner::boot(kv.clone(), Arc::clone(&script), RunnerConfig::new(WORKER))
            .expect("a fresh store boots");
        let told = Arc::new(Told::default());
        told.listen(&runner);
        Self {
            kv: kv.clone(),
            runner,
            script,
            told,
        }
    }

    pub(super) fn poll(&self, max: usize, now: i64) -> Polled {
        self.runner.poll_inbox(max, &|| Millis(now))
    }

    pub(super) fn poll_timers(&self, max: usize, now: i64) -> Polled {
        self.runner.poll_timers(max, &|| Millis(now))
    }

    pub(super) fn replay(&self) -> Vec<(u8, u64)> {
        self.told.replay()
    }

    pub(super) fn log(&self) -> Vec<(u8, u32)> {
        self.told.log()
    }
}

/// A clock that only moves when told to, or when somebody sleeps.
#[derive(Default)]
pub(super) struct ManualTime {
    now: AtomicI64,
}

impl ManualTime {
    pub(super) fn at(now: i64) -> Arc<Self> {
        Arc::new(Self {
            now: AtomicI64::new(now),
        })
    }

    pub(super) fn set(&self, now: i64) {
        self.now.store(now, Ordering::Relaxed);
    }
}

impl Time for ManualTime {
    fn now(&self) -> Millis {
        Millis(self.now.load(Ordering::Relaxed))
    }

    fn sleep(&self, span: Duration) {
        let span = i64::try_from(span.as_millis()).expect("idle sleeps are short");
        self.now.fetch_add(span, Ordering::Relaxed);
        std::thread::yield_now();
    }
}

pub(super) fn worker<K: Kv>(
    kv: &K,
    script: &Arc<Script>,
    time: &Arc<ManualTime>,
    max_batch: usize,
) -> Worker<K, Script> {
    let config = WorkerConfig {
        max_batch,
        ..WorkerConfig::new(WORKER)
    };
    let time: Arc<dyn Time> = Arc::<ManualTime>::clone(time);
    Worker::init(kv.clone(), Arc::clone(script), config, time).expect("a fresh store boots")
}

/// A runner of worker 7 that owns its leases under another name.
pub(super) fn other_runner<K: Kv>(kv: &K, script: &Arc<Script>, owner: u64) -> Runner<K, Script> {
    let config = RunnerConfig {
        owner,
        ..RunnerConfig::new(WORKER)
    };
    Runner::boot(kv.clone(), Arc::clone(script), config).expect("the store boots again")
}

pub(super) fn frame_to(worker: i64, id: &str) -> Vec<u8> {
    Message::new(Kind::Command, worker, id, "ok")
        .encode()
        .expect("a small message encodes")
}

/// A frame for worker 7.
pub(super) fn frame(id: &str) -> Vec<u8> {
    frame_to(7, id)
}

pub(super) fn put<K: Kv>(kv: &K, seq: u64, frame: Vec<u8>) {
    kv.write(move |tx| inbox::put(tx, WORKER, seq, &frame))
        .expect("the place is free");
}

pub(super) fn arm<K: Kv>(kv: &K, due: i64, seq: u64, frame: Vec<u8>) {
    kv.write(move |tx| timers::append(tx, Millis(due), seq, &frame))
        .expect("the place is free");
}

pub(super) fn rows<K: Kv>(kv: &K, dbi: Dbi) -> Vec<Pair> {
    kv.read(move |tx| tx.scan(dbi, &[], None, 1000))
        .expect("the store can be read")
}

pub(super) fn get<K: Kv>(kv: &K, dbi: Dbi, key: &[u8]) -> Option<Vec<u8>> {
    let key = key.to_vec();
    kv.read(move |tx| tx.get(dbi, &key))
        .expect("the store can be read")
}

/// The sequences of worker 7's inbox.
pub(super) fn inbox_seqs<K: Kv>(kv: &K) -> Vec<u64> {
    let rows = kv
        .read(|tx| inbox::rows(tx, WORKER, 0, 1000))
        .expect("the store can be read");
    rows.into_iter().map(|(key, _)| key.seq).collect()
}

/// Sequence, failure and attempts of every dead letter.
pub(super) fn letters<K: Kv>(kv: &K) -> Vec<(u64, i32, u32)> {
    let letters = kv
        .read(|tx| dead_letters::list(tx, InboxKey::new(0, 0), 1000))
        .expect("the store can be read");
    letters
        .into_iter()
        .map(|(key, letter)| (key.seq, letter.failure, letter.attempts))
        .collect()
}

/// Due time and sequence of every timer, in the order of time.
pub(super) fn timer_keys<K: Kv>(kv: &K) -> Vec<(i64, u64)> {
    let rows = kv
        .read(|tx| timers::due(tx, Millis::MAX, 1000))
        .expect("the store can be read");
    rows.into_iter()
        .map(|(TimerKey { due, seq }, _)| (due.0, seq))
        .collect()
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
