//! The server side: the use cases of `control` over the real store and kernel, called as the doors call them.
//!
//! One call is at most one write transaction (a kernel tick apart), so that the world can look at the database after
//! every one of them. Whatever is not in the database dies with this struct.

mod channel;
mod lease;
mod start;
mod uploads;
mod users;

pub(crate) use start::Host;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use kiln_control::billing::BillingHandler;
use kiln_control::tasks::TaskHandler;
use kiln_control::{Denied, Heartbeats, outputs};
use kiln_kernel::Worker;
use kiln_model::Millis;
use kiln_store::{Error, Ledger, Listener, Store, Tx};

use crate::note::Note;
use crate::objects::SimObjects;
use channel::Session;

/// How many outputs leave at a time.
const RESTING: u32 = 4;

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) store: Store,
    pub(crate) opened: Millis,
    objects: Arc<SimObjects>,
    worker: Worker<Ledger, TaskHandler>,
    billing: Worker<Ledger, BillingHandler>,
    kernel_bell: Listener,
    heartbeats: Heartbeats,
    /// The beats that wait in memory, for the checker.
    beats: BTreeMap<(i64, i64), Millis>,
    /// Leases that a flush found to be over: their next heartbeat is told.
    over: BTreeSet<(i64, i64)>,
    sessions: BTreeMap<u64, Session>,
    /// By runner and the number of its slot.
    newest: BTreeMap<(i64, u32), u64>,
}

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The process died in it.
    Crashed,
    /// Something that cannot happen on a healthy store.
    Unexpected(String),
}

impl Server {
    pub(crate) fn now(&self) -> Millis {
        self.store.ledger.now()
    }

    /// Runs what the kernel has to do now; answers how long until it wants to be called again.
    pub(crate) fn tick(&mut self) -> Result<i64, Trouble> {
        let processed = self.worker.tick().processed + self.billing.tick().processed;
        if processed > 0 {
            return Ok(1);
        }
        match self.worker.idle_sleep() {
            Ok(span) => Ok(i64::try_from(span.as_millis()).unwrap_or(i64::MAX).max(1)),
            Err(status) => Err(Trouble::Unexpected(format!("the kernel sleeps: {status}"))),
        }
    }

    /// Whether the kernel has new work since this was last asked.
    pub(crate) fn kernel_was_rung(&mut self) -> bool {
        was_rung(&mut self.kernel_bell)
    }

    /// Lets outputs that were put to use leave for the objects, as far as these take them.
    pub(crate) fn rest_outputs(&mut self, _: &mut Vec<Note>) -> Result<(), Trouble> {
        let reader = &self.store.reader;
        let resting = reader.read(|query| outputs::resting(query, RESTING));
        let mut rested = Vec::new();
        for output in resting.wait().map_err(unexpected)? {
            let asked = output.clone();
            let body = reader.read(move |query| asked.body(query)).wait();
            if let Some(body) = body.map_err(unexpected)?
                && self.objects.put(&output.key, body).is_ok()
            {
                rested.push(output);
            }
        }
        if rested.is_empty() {
            return Ok(());
        }
        self.write(move |tx| outputs::rested(tx, &rested))?
            .map_err(unexpected)
    }

    /// Writes the heartbeats of the last second.
    pub(crate) fn flush(&mut self, notes: &mut Vec<Note>) -> Result<(), Trouble> {
        let beats = std::mem::take(&mut self.beats);
        let mut truths = Vec::new();
        for flush in self.heartbeats.take() {
            truths.extend(self.write(flush)?.map_err(unexpected)?);
        }
        for truth in truths {
            let key = (truth.job, truth.believed);
            if truth.is_over() {
                self.over.insert(key);
            } else if let Some(tick) = beats.get(&key) {
                notes.push(Note::Heard {
                    job: truth.job,
                    epoch: truth.believed,
                    tick: *tick,
                });
            }
        }
        Ok(())
    }

    fn beat(&mut self, job: i64, epoch: i64) {
        let now = self.now();
        self.heartbeats.beat(job, epoch, now);
        self.beats.insert((job, epoch), now);
    }

    /// A write transaction, as a door makes one.
    fn write<R: Send + 'static>(
        &self,
        body: impl FnMut(&mut dyn Tx) -> Result<R, Denied> + Send + 'static,
    ) -> Result<Result<R, Denied>, Trouble> {
        match self.store.ledger.submit(body).wait() {
            Err(Denied::Store(Error::Closed)) => Err(Trouble::Crashed),
            outcome => Ok(outcome),
        }
    }
}

fn was_rung(listener: &mut Listener) -> bool {
    let heard = pin!(listener.heard());
    heard
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it stands where `map_err` wants a function"
)]
fn unexpected(denied: Denied) -> Trouble {
    Trouble::Unexpected(denied.to_string())
}
