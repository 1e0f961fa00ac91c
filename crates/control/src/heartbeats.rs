//! Signs of life, gathered in memory and written once a second for all jobs together. They are not transactions: what a
//! crash loses here is at most a second of a lease window that starts anew anyway.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kiln_model::{Millis, Status};
use kiln_store::Tx;
use kiln_store::sql::{heartbeat, job};

use crate::{Denied, billing};

#[derive(Debug, Default)]
pub struct Heartbeats {
    /// By job, so that flushes of two servers take rows in the same order.
    waiting: Mutex<BTreeMap<i64, Beat>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Beat {
    epoch: i64,
    tick: Millis,
}

/// What the database says about a job whose holder is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    pub job: i64,
    /// The epoch the holder believes in.
    pub believed: i64,
    pub epoch: i64,
    pub status: Status,
}

impl Truth {
    /// Whether the holder is to stop: the job was taken from it or has ended.
    pub fn is_over(&self) -> bool {
        self.epoch != self.believed || !self.status.is_in_flight()
    }
}

impl Heartbeats {
    /// The holder of `epoch` is alive at kernel time `tick`.
    pub fn beat(&self, job: i64, epoch: i64, tick: Millis) {
        let mut waiting = self
            .waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let beat = waiting.entry(job).or_insert(Beat { epoch, tick });
        if (beat.epoch, beat.tick) < (epoch, tick) {
            *beat = Beat { epoch, tick };
        }
    }

    /// What is to be written, as a closure for the ledger; it answers the truth about each job.
    pub fn take(&self) -> impl FnMut(&mut dyn Tx) -> Result<Vec<Truth>, Denied> + Send + use<> {
        let mut waiting = self
            .waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let beats = std::mem::take(&mut *waiting);
        move |tx| {
            let mut truths = Vec::with_capacity(beats.len());
            for (&id, beat) in &beats {
                let Some(found) = job::find(tx, id)? else {
                    continue;
                };
                let truth = Truth {
                    job: id,
                    believed: beat.epoch,
                    epoch: found.life.epoch,
                    status: found.life.status,
                };
                if !truth.is_over() {
                    heartbeat::record(tx, id, beat.epoch, beat.tick)?;
                    if truth.status == Status::Running {
                        billing::charge_alive(tx, &found, beat.tick)?;
                    }
                }
                truths.push(truth);
            }
            Ok(truths)
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .is_empty()
    }
}
