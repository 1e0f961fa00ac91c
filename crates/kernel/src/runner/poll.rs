//! Polling: pass after pass, until nothing is left or the budget of the poll is spent.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use kiln_model::Millis;

use super::BATCH;
use super::apply::{self, Rules};
use super::claim::{self, Claimant, Claims};
use super::emit::{Emitter, Times};
use super::instance::{Runner, State};
use super::job::{Job, Outcome};
use super::prepare::{self, caught, elapsed_ms};
use crate::handler::Preparing;
use crate::keys::TimerKey;
use crate::records::Lease;
use crate::slot::Slot;
use crate::{Handler, Kv, MessageView, Status, Step};

/// What a poll did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Polled {
    /// How many frames succeeded. Also right when there was a failure.
    pub processed: usize,
    /// The first failure that is not dealt with quietly. What came with it in one pass was still settled.
    pub failure: Option<Status>,
}

/// What a pass looks for.
#[derive(Clone, Debug)]
enum Source {
    Inbox,
    Timers { tried: Arc<BTreeSet<TimerKey>> },
}

type Jobs<P> = Vec<Job<P>>;

/// What a pass found.
struct Passed {
    claimed: usize,
    timers: Vec<TimerKey>,
}

impl<K: Kv, H: Handler<K::Tx>> Runner<K, H> {
    /// Runs up to `max` frames of the worker's inbox, oldest first. A frame that is requeued counts again when it is
    /// taken again.
    pub fn poll_inbox(&self, max: usize, clock: &dyn Fn() -> Millis) -> Polled {
        self.poll(max, clock, |_| Source::Inbox)
    }

    /// Runs up to `max` due timers, earliest first, each at most once.
    pub fn poll_timers(&self, max: usize, clock: &dyn Fn() -> Millis) -> Polled {
        self.poll(max, clock, |tried| Source::Timers {
            tried: Arc::new(tried.clone()),
        })
    }

    /// Runs one frame that lies nowhere: decode, check the target, prepare, and apply in a transaction.
    pub fn run_step(&self, frame: &[u8], clock: &dyn Fn() -> Millis) -> Result<(), Status> {
        self.check_running()?;
        let message = MessageView::decode(frame)?;
        if !message.is_for(self.config.worker) {
            return Err(Status::NotFound);
        }
        let worker = self.config.worker;
        let now = clock();
        let preparing = Preparing {
            now,
            worker,
            slot: None,
            keep: &|| Ok(()),
        };
        let prepared = caught(|| self.handler.prepare(&message, &preparing))?;
        let prepared = Mutex::new(prepared);
        let (handler, sink) = (Arc::clone(&self.handler), self.config.sink);
        let frame = frame.to_vec();
        let now = clock();
        self.kv.write(move |tx| {
            let message = MessageView::decode(&frame)?;
            let prepared = prepared.lock().unwrap_or_else(PoisonError::into_inner);
            let mut step = Step::new(now, worker, None, 1);
            caught(|| handler.apply(&prepared, &message, tx, &mut step))?;
            step.route(tx, &sink)
        })?;
        self.steps_completed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn poll(
        &self,
        max: usize,
        clock: &dyn Fn() -> Millis,
        source: impl Fn(&BTreeSet<TimerKey>) -> Source,
    ) -> Polled {
        let mut polled = Polled::default();
        let mut budget = max;
        let mut tried = BTreeSet::new();
        while budget > 0 && polled.failure.is_none() {
            let wanted = budget.min(BATCH);
            match self.pass(&source(&tried), wanted, clock, &mut polled) {
                Ok(Passed { claimed: 0, .. }) => break,
                Ok(passed) => {
                    budget = budget.saturating_sub(passed.claimed);
                    tried.extend(passed.timers);
                }
                Err(failure) => polled.failure = Some(failure),
            }
        }
        polled
    }

    fn pass(
        &self,
        source: &Source,
        max: usize,
        clock: &dyn Fn() -> Millis,
        polled: &mut Polled,
    ) -> Result<Passed, Status> {
        self.check_running()?;
        let _one_pass_at_a_time = self.passing.lock().unwrap_or_else(PoisonError::into_inner);
        let claims = self.claim(source.clone(), max, clock())?;
        if claims.corrupt.is_some() {
            polled.failure = claims.corrupt;
        }
        if claims.taken.is_empty() {
            return Ok(Passed {
                claimed: 0,
                timers: Vec::new(),
            });
        }
        let timers = claims
            .taken
            .iter()
            .filter_map(|claimed| match claimed.slot {
                Slot::Timer(key) => Some(key),
                Slot::Inbox(_) => None,
            });
        let passed = Passed {
            claimed: claims.taken.len(),
            timers: timers.collect(),
        };
        let worker = self.config.worker;
        let (jobs, applied_at) = prepare::all(
            &self.kv,
            &*self.handler,
            worker,
            &self.held,
            claims.taken,
            clock,
        );
        let (jobs, outcomes) = self.settle(jobs, applied_at)?;
        let finished_at = clock();
        let apply_ms = elapsed_ms(applied_at, finished_at);
        let times = Times {
            applied_at,
            finished_at,
            apply_ms,
        };
        let before = polled.processed;
        let observers = self.observers();
        Emitter::new(worker, &self.meter, &observers).tell(&jobs, outcomes, times, polled);
        let done = (polled.processed - before) as u64;
        self.steps_completed.fetch_add(done, Ordering::Relaxed);
        Ok(passed)
    }

    fn claim(&self, source: Source, max: usize, now: Millis) -> Result<Claims, Status> {
        let policy = self.policy();
        let claimant = Claimant {
            worker: self.config.worker,
            owner: self.config.owner,
            now,
            ttl_ms: policy.lease_ttl_ms,
            dedupe_window_ms: policy.dedupe_window_ms,
        };
        let due_until = latest_due(now);
        let claims = self.kv.write(move |tx| match &source {
            Source::Inbox => claim::inbox(tx, &claimant, max),
            Source::Timers { tried } => claim::due_timers(tx, &claimant, due_until, tried, max),
        })?;
        self.held.hold(&claims.taken, now, policy.lease_ttl_ms);
        Ok(claims)
    }

    /// Settles all jobs in one transaction.
    fn settle(
        &self,
        jobs: Jobs<H::Prepared>,
        now: Millis,
    ) -> Result<(Jobs<H::Prepared>, Vec<Outcome>), Status> {
        let claims = self.held.take();
        let rules = Rules {
            worker: self.config.worker,
            owner: self.config.owner,
            now,
            policy: self.policy(),
            sink: self.config.sink,
            #[cfg(feature = "sabotage")]
            ignore_budget: crate::sabotage::is_on(crate::sabotage::Switch::IgnoreBudget),
        };
        #[cfg(feature = "sabotage")]
        let jobs = if crate::sabotage::is_on(crate::sabotage::Switch::ApplyOutsideTransaction) {
            super::split::effects_first(&self.kv, &self.handler, rules, jobs)?
        } else {
            jobs
        };
        let jobs = Arc::new(Mutex::new(jobs));
        let handler = Arc::clone(&self.handler);
        let shared = Arc::clone(&jobs);
        let tokens: Vec<Lease> = claims.iter().map(|(_, token)| *token).collect();
        let settled = self.kv.write(move |tx| {
            let jobs = shared.lock().unwrap_or_else(PoisonError::into_inner);
            apply::all(tx, &*handler, &rules, &jobs, &tokens)
        });
        let outcomes = match settled {
            Ok(outcomes) => outcomes,
            Err(failure) => {
                // Nothing was committed. Whoever comes next need not wait for the leases to expire.
                self.kv.write(move |tx| claim::release(tx, &claims)).ok();
                return Err(failure);
            }
        };
        let jobs = std::mem::take(&mut *jobs.lock().unwrap_or_else(PoisonError::into_inner));
        Ok((jobs, outcomes))
    }

    fn check_running(&self) -> Result<(), Status> {
        if self.state() == State::Running {
            Ok(())
        } else {
            Err(Status::Busy)
        }
    }
}

/// The latest due time that counts as due.
fn latest_due(now: Millis) -> Millis {
    #[cfg(feature = "sabotage")]
    if crate::sabotage::is_on(crate::sabotage::Switch::FireEarly) {
        return Millis(now.0.saturating_add(crate::sabotage::EARLY_MS));
    }
    now
}
