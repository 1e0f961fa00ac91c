//! Telling what happened, after it has happened: counters, log and replay events of each step, in row order.

use std::sync::{Mutex, PoisonError};

use kiln_model::Millis;

use super::instance::Observers;
use super::job::{Disposition, Job, Outcome, Settled, StepRecord};
use super::poll::Polled;
use crate::Status;
use crate::events::{LogEvent, LogKind, ReplayEvent, ReplayKind};
use crate::metrics::Metrics;
use crate::slot::Slot;

/// The counters of a runner.
#[derive(Debug, Default)]
pub(super) struct Meter {
    metrics: Mutex<Metrics>,
}

impl Meter {
    pub(super) fn snapshot(&self) -> Metrics {
        *self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn reset(&self) {
        self.change(|metrics| *metrics = Metrics::default());
    }

    fn change(&self, change: impl FnOnce(&mut Metrics)) -> Metrics {
        let mut metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut metrics);
        *metrics
    }
}

/// The times that all jobs of a pass share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) applied_at: Millis,
    pub(super) finished_at: Millis,
    pub(super) apply_ms: u64,
}

pub(super) struct Emitter<'a> {
    worker: u64,
    meter: &'a Meter,
    observers: &'a Observers,
    /// Without a sink nobody sees single changes, so they are added up and go in at once.
    pending: Metrics,
}

impl<'a> Emitter<'a> {
    pub(super) fn new(worker: u64, meter: &'a Meter, observers: &'a Observers) -> Self {
        Self {
            worker,
            meter,
            observers,
            pending: Metrics::default(),
        }
    }

    /// Tells about every job of a pass and adds what the poll answers.
    pub(super) fn tell<P>(
        mut self,
        jobs: &[Job<P>],
        outcomes: Vec<Outcome>,
        times: Times,
        polled: &mut Polled,
    ) {
        for (job, outcome) in jobs.iter().zip(outcomes) {
            match outcome {
                Outcome::Settled(settled) => self.tell_settled(job, settled, times, polled),
                Outcome::Lost => self.count(|metrics| add(&mut metrics.lost_claims, 1)),
            }
        }
        let pending = self.pending;
        if self.observers.metrics.is_none() {
            self.meter.change(|metrics| metrics.add(&pending));
        }
    }

    fn tell_settled<P>(
        &mut self,
        job: &Job<P>,
        settled: Settled,
        times: Times,
        polled: &mut Polled,
    ) {
        let slot = job.claimed.slot;
        let frame = &job.claimed.frame;
        let (attempt, result) = match slot {
            Slot::Inbox(_) => (ReplayKind::InboxAttempt, ReplayKind::InboxResult),
            Slot::Timer(_) => (ReplayKind::TimerAttempt, ReplayKind::TimerResult),
        };
        let code = settled.failure.as_ref().map_or(0, Status::code);
        let at = times.finished_at;
        self.count(|metrics| add(&mut metrics.step_attempts, 1));
        self.replay(attempt, slot, 0, frame, job.prepared_at);
        self.sample(job.prepare_ms.saturating_add(times.apply_ms));
        self.replay(result, slot, code, frame, at);
        match &settled.failure {
            None => {
                polled.processed += 1;
                self.count(|metrics| add(&mut metrics.step_successes, 1));
            }
            Some(failure) => self.tell_failure(slot, failure, at),
        }
        self.tell_disposition(slot, &settled, frame, at);
        if let Some(steps) = &self.observers.steps {
            steps(&StepRecord {
                worker: self.worker,
                slot,
                prepared_at: job.prepared_at,
                applied_at: times.applied_at,
                frame,
                code,
                disposition: settled.disposition,
            });
        }
        if polled.failure.is_none() {
            polled.failure = settled.returned;
        }
    }

    fn tell_failure(&mut self, slot: Slot, failure: &Status, at: Millis) {
        let retryable = failure.is_retryable();
        self.count(|metrics| match failure {
            Status::Conflict => {
                add(&mut metrics.retryable_failures, 1);
                add(&mut metrics.conflict_failures, 1);
            }
            Status::Busy => {
                add(&mut metrics.retryable_failures, 1);
                add(&mut metrics.busy_failures, 1);
            }
            Status::Error(_)
            | Status::NotFound
            | Status::Full
            | Status::Corrupt(_)
            | Status::Exists
            | Status::Wire(_)
            | Status::Store(_) => add(&mut metrics.non_retryable_failures, 1),
        });
        let kind = if retryable {
            LogKind::StepRetryableFailure
        } else {
            LogKind::StepNonRetryableFailure
        };
        self.log(kind, slot, failure, 0, at);
    }

    fn tell_disposition(&mut self, slot: Slot, settled: &Settled, frame: &[u8], at: Millis) {
        let Some(failure) = &settled.failure else {
            return;
        };
        match settled.disposition {
            Disposition::Requeued { failures, .. } => {
                self.count(|metrics| add(&mut metrics.requeues, 1));
                self.replay(
                    ReplayKind::DispositionRequeue,
                    slot,
                    failure.code(),
                    frame,
                    at,
                );
                self.log(LogKind::DispositionRequeue, slot, failure, failures, at);
            }
            Disposition::DeadLettered { failures, .. } => {
                self.count(|metrics| add(&mut metrics.dead_letter_moves, 1));
                self.replay(
                    ReplayKind::DispositionDeadLetter,
                    slot,
                    failure.code(),
                    frame,
                    at,
                );
                self.log(LogKind::DispositionDeadLetter, slot, failure, failures, at);
            }
            Disposition::Acked | Disposition::Repeated | Disposition::Kept => {}
        }
    }

    fn sample(&mut self, latency_ms: u64) {
        self.count(|metrics| {
            add(&mut metrics.step_latency_samples, 1);
            add(&mut metrics.step_latency_total_ms, latency_ms);
            metrics.step_latency_max_ms = metrics.step_latency_max_ms.max(latency_ms);
        });
    }

    fn count(&mut self, change: impl FnOnce(&mut Metrics)) {
        match &self.observers.metrics {
            Some(sink) => sink(&self.meter.change(change)),
            None => change(&mut self.pending),
        }
    }

    fn replay(&self, kind: ReplayKind, slot: Slot, code: i32, frame: &[u8], at: Millis) {
        if let Some(hook) = &self.observers.replay {
            hook(&ReplayEvent {
                kind,
                worker: self.worker,
                seq: slot.seq(),
                code,
                frame,
                at,
            });
        }
    }

    fn log(&self, kind: LogKind, slot: Slot, failure: &Status, detail: u32, at: Millis) {
        if let Some(sink) = &self.observers.log {
            sink(&LogEvent {
                kind,
                worker: self.worker,
                seq: slot.seq(),
                code: failure.code(),
                detail,
                at,
                text: failure.to_string(),
            });
        }
    }
}

fn add(counter: &mut u64, more: u64) {
    *counter = counter.saturating_add(more);
}
