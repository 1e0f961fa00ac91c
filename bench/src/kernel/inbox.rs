//! An inbox that is filled, and then emptied by a runner against the clock.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use kiln_kernel::runner::BATCH;
use kiln_kernel::{
    Handler, Kind, Kv, KvTx, Message, MessageView, Preparing, Runner, RunnerConfig, Status, Step,
    inbox,
};
use kiln_model::Millis;

use crate::failure::Failure;
use crate::sample::{Reading, Sample};
use crate::stopwatch::Stopwatch;

pub(super) const WORKER: u64 = 7;
/// Rows laid in per transaction; not measured.
const LAID_IN_AT_ONCE: u64 = 1_024;

#[derive(Debug)]
pub(super) struct Inbox<K> {
    runner: Runner<K, NoOp>,
    chunk: u64,
    next: u64,
}

impl<K: Kv> Inbox<K> {
    /// A running runner, and `chunk` messages (a multiple of the batch) at a time to run.
    pub(super) fn boot(kv: K, chunk: u64) -> Result<Self, Failure> {
        let runner = Runner::boot(kv, Arc::new(NoOp), RunnerConfig::new(WORKER))?;
        Ok(Self {
            runner,
            chunk,
            next: 0,
        })
    }

    #[cfg(test)]
    pub(super) fn kv(&self) -> &K {
        self.runner.kv()
    }

    /// Lays in and polls chunk after chunk, until the polls have taken `span` by the given measure.
    pub(super) fn run_for(
        &mut self,
        span: Duration,
        measure: fn(&Sample) -> Duration,
        now: &dyn Fn() -> Millis,
        commits: &dyn Fn() -> u64,
    ) -> Result<Sample, Failure> {
        let mut sum = Sample::default();
        loop {
            self.lay_in()?;
            sum = sum + self.poll_all(now, commits)?;
            if measure(&sum) >= span {
                return Ok(sum);
            }
        }
    }

    fn lay_in(&mut self) -> Result<(), Failure> {
        let end = self.next + self.chunk;
        while self.next < end {
            let (from, until) = (self.next, end.min(self.next + LAID_IN_AT_ONCE));
            self.runner.kv().write(move |tx| {
                for seq in from..until {
                    let id = format!("message-{seq}");
                    let message =
                        Message::new(Kind::Command, WORKER.cast_signed(), id, "a payload");
                    inbox::put(tx, WORKER, seq, &message.encode()?)?;
                }
                Ok(())
            })?;
            self.next = until;
        }
        Ok(())
    }

    fn poll_all(
        &self,
        now: &dyn Fn() -> Millis,
        commits: &dyn Fn() -> u64,
    ) -> Result<Sample, Failure> {
        let stopwatch = Stopwatch::start();
        let before = Reading::take(&stopwatch, 0, commits());
        let mut processed = 0;
        while processed < self.chunk {
            let polled = self.runner.poll_inbox(BATCH, now);
            if let Some(failure) = polled.failure {
                return Err(failure.into());
            }
            if polled.processed == 0 {
                return Err(Failure::Wrong(
                    "a poll found no message where there are some".into(),
                ));
            }
            processed += polled.processed as u64;
        }
        Ok(Reading::take(&stopwatch, processed, commits()).since(&before))
    }
}

/// Looks at the message, so that decoding it cannot be left out, and does nothing.
#[derive(Debug)]
pub(super) struct NoOp;

impl<T: KvTx + ?Sized> Handler<T> for NoOp {
    type Prepared = ();

    fn prepare(&self, _: &MessageView<'_>, _: &Preparing<'_>) -> Result<(), Status> {
        Ok(())
    }

    fn apply(
        &self,
        (): &(),
        message: &MessageView<'_>,
        _: &mut T,
        _: &mut Step,
    ) -> Result<(), Status> {
        black_box(message.payload);
        Ok(())
    }
}
