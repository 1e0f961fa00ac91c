//! The store, the clock and the runners of this world, shared by all who act in it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiln_kernel::{
    Dbi, InboxKey, Kv as _, KvTx as _, Policy, Runner, RunnerConfig, Slot, Status, TimerKey,
    dead_letters, inbox, timers,
};
use kiln_model::Millis;
use kiln_store::testing::{MemoryDatabase, SeededEntropy};
use kiln_store::{Ledger, Tx};

use super::actor::Actor;
use super::book::{Book, Sent, SentKind};
use super::content::Content;
use super::script::Script;
use crate::clock::SimClock;
use crate::crash::{CrashPlan, CrashPoint};
use crate::rng::Rng;

/// The inboxes.
pub(super) const WORKERS: u64 = 2;

#[derive(Debug)]
pub(super) struct Stage {
    pub(super) clock: Arc<SimClock>,
    pub(super) plan: Arc<CrashPlan>,
    pub(super) policy: Policy,
    pub(super) runners_each: u64,
    database: MemoryDatabase,
    entropy: SeededEntropy,
    book: Mutex<Book>,
    cast: Mutex<Cast>,
}

/// What a crash takes.
#[derive(Clone, Debug, Default)]
struct Cast {
    ledger: Option<Ledger>,
    runners: Vec<Arc<Runner<Ledger, Actor>>>,
}

impl Stage {
    pub(super) fn new(seed: u64, policy: Policy, runners_each: u64) -> Result<Arc<Self>, Status> {
        let database = MemoryDatabase::new().map_err(|error| Status::Store(error.to_string()))?;
        Ok(Arc::new(Self {
            clock: Arc::new(SimClock::new()),
            plan: Arc::new(CrashPlan::default()),
            policy,
            runners_each,
            database,
            entropy: SeededEntropy::new(seed),
            book: Mutex::new(Book::new(seed)),
            cast: Mutex::default(),
        }))
    }

    pub(super) fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process starts on the store as it is.
    pub(super) fn open(self: &Arc<Self>, process: u64) -> Result<(), Status> {
        self.clock
            .start_process(i64::try_from(process).unwrap_or(0) * 1_000_003);
        self.plan.disarm();
        let ledger = Ledger::inline(
            &self.database,
            Arc::clone(&self.clock) as _,
            &self.entropy,
            Arc::clone(&self.plan) as _,
        )
        .map_err(|error| Status::Store(error.to_string()))?;
        let mut runners = Vec::new();
        for worker in 0..WORKERS {
            for number in 0..self.runners_each {
                let mut config = RunnerConfig::new(worker);
                config.owner = process * 100 + worker * 10 + number + 1;
                let actor = Actor {
                    stage: Arc::downgrade(self),
                    owner: config.owner,
                    number: runners.len(),
                };
                let runner = Runner::boot(ledger.clone(), Arc::new(actor), config)?;
                runner.set_policy(self.policy);
                runners.push(Arc::new(runner));
            }
        }
        *self.lock_cast() = Cast {
            ledger: Some(ledger),
            runners,
        };
        Ok(())
    }

    /// Lets the runners go, which hold this stage.
    pub(super) fn close(&self) {
        *self.lock_cast() = Cast::default();
    }

    pub(super) fn now(&self) -> Millis {
        self.ledger().map_or(Millis::ZERO, |ledger| ledger.now())
    }

    pub(super) fn ledger(&self) -> Result<Ledger, Status> {
        let ledger = self.lock_cast().ledger.clone();
        ledger.ok_or_else(|| Status::Store("nobody is here".into()))
    }

    pub(super) fn runners(&self) -> usize {
        self.lock_cast().runners.len()
    }

    pub(super) fn content(&self) -> Result<Content, Status> {
        self.ledger()?
            .read(|tx| Content::read(tx).map_err(|error| Status::Store(error.to_string())))
    }

    /// A runner looks for work.
    pub(super) fn poll(&self, number: usize, timers: bool, max: usize) {
        let runner = self.lock_cast().runners.get(number).cloned();
        let Some(runner) = runner else { return };
        let clock = || self.now();
        if timers {
            runner.poll_timers(max, &clock);
        } else {
            runner.poll_inbox(max, &clock);
        }
        // The pass is over: nothing is being prepared by this runner any more.
        self.book()
            .preparing
            .retain(|_, (preparing, _)| *preparing != number);
    }

    pub(super) fn send(&self, id: &str, worker: u64, script: Script, kind: SentKind) {
        let to = match kind {
            SentKind::Misrouted => (worker + 1) % WORKERS,
            SentKind::Plain | SentKind::Once | SentKind::Timer(_) => worker,
        };
        let message = script.message(to, id, kind == SentKind::Once);
        let order = self.book().next_order();
        let outcome = self.write(move |tx| {
            let frame = message.encode()?;
            inbox::append(tx, worker, &frame)
        });
        self.remember(id, script, kind, order, outcome.is_err());
    }

    pub(super) fn arm(&self, id: &str, worker: u64, script: Script, due: Millis) {
        let message = script.message(worker, id, false);
        let order = self.book().next_order();
        let outcome = self.write(move |tx| timers::arm(tx, due, &message.encode()?));
        let key = outcome.clone().unwrap_or_else(|_| TimerKey::new(due, 0));
        let kind = SentKind::Timer(key);
        self.remember(id, script, kind, order, outcome.is_err());
    }

    pub(super) fn send_garbage(&self, worker: u64, frame: Vec<u8>) {
        self.book().garbage.insert(frame.clone());
        // Whether it arrived does not matter: if it did, it must end as a dead letter.
        self.write(move |tx| inbox::append(tx, worker, &frame)).ok();
    }

    /// Cancels a timer that is still there.
    pub(super) fn cancel(&self, id: &str, key: TimerKey) {
        let name = id.as_bytes().to_vec();
        let outcome = self.write(move |tx| timers::cancel_message(tx, key, &name));
        if outcome == Ok(true) {
            self.book().canceled.insert(id.to_owned());
        } else if outcome.is_err()
            && let Some(sent) = self.book().sent.get_mut(id)
        {
            sent.doubtful = true;
        }
    }

    /// An operator sends a dead letter back.
    pub(super) fn replay_one(&self) {
        let outcome = self.write(|tx| {
            let letters = dead_letters::list(tx, InboxKey::new(0, 0), 1)?;
            let readable = letters.first().filter(|(_, letter)| letter.attempts > 0);
            match readable {
                Some((key, _)) => dead_letters::replay_at_tail(tx, *key).map(Some),
                None => Ok(None),
            }
        });
        drop(outcome);
    }

    pub(super) fn arm_crash(&self) {
        let mut book = self.book();
        book.faults += 1;
        let commits = book.rng.within(0..=4).unsigned_abs();
        let point = *book.rng.pick(&[CrashPoint::Before, CrashPoint::After]);
        self.plan.arm(commits, point);
    }

    /// Something happens while a runner prepares.
    pub(super) fn interleave(&self, preparing: usize) {
        let roll = {
            let mut book = self.book();
            if book.interleaving || book.calm || !book.rng.percent(30) {
                return;
            }
            book.interleaving = true;
            book.faults += 1;
            book.rng.within(1..=3)
        };
        match roll {
            1 => {
                let span = self.book().rng.within(1..=2_500);
                self.clock.advance(span);
            }
            2 => {
                let (number, timers) = {
                    let rng = &mut self.book().rng;
                    (rng.index(self.runners()), rng.percent(50))
                };
                if number != preparing {
                    self.poll(number, timers, 3);
                }
            }
            _ => self.cancel_something(),
        }
        self.book().interleaving = false;
    }

    pub(super) fn cancel_something(&self) {
        let armed: Vec<(String, TimerKey)> = {
            let book = self.book();
            let timers = book.sent.iter().filter_map(|(id, sent)| match sent.kind {
                SentKind::Timer(key) => (!sent.doubtful).then(|| (id.clone(), key)),
                SentKind::Plain | SentKind::Once | SentKind::Misrouted => None,
            });
            timers.collect()
        };
        if armed.is_empty() {
            return;
        }
        let (id, key) = self.book().rng.pick(&armed).clone();
        self.cancel(&id, key);
    }

    /// The lease on a slot, as it is stored.
    pub(super) fn lease(&self, slot: Slot) -> Option<kiln_kernel::records::Lease> {
        let read = self.ledger().ok()?.read(move |tx| {
            let bytes = tx.get(Dbi::LEASES, slot.lease_key().as_slice())?;
            bytes
                .as_deref()
                .map(kiln_kernel::records::Lease::decode)
                .transpose()
        });
        read.ok().flatten()
    }

    fn write<R: Send + 'static>(
        &self,
        body: impl FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
    ) -> Result<R, Status> {
        self.ledger()?.write(body)
    }

    fn remember(&self, id: &str, script: Script, kind: SentKind, order: u64, doubtful: bool) {
        let sent = Sent {
            script,
            kind,
            doubtful,
            order,
        };
        self.book().sent.entry(id.to_owned()).or_insert(sent);
    }

    fn lock_cast(&self) -> MutexGuard<'_, Cast> {
        self.cast.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the runners of a world are set.
pub(super) fn draw_policy(rng: &mut Rng) -> Policy {
    Policy {
        lease_ttl_ms: rng.within(500..=1_500),
        retry_budget_max: u32::try_from(rng.within(2..=4)).unwrap_or(2),
        requeue_backoff_ms: *rng.pick(&[0, 0, 100]),
        dedupe_window_ms: *rng.pick(&[0, 4_000]),
        ..Policy::DEFAULT
    }
}
