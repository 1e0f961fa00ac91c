//! Signs of life, gathered in memory and written once a second for all jobs together. They are not transactions: what a
//! crash loses here is at most a second of a lease window that starts anew anyway.

use std::collections::BTreeMap;
use std::sync::Mutex;

use kiln_model::{Millis, Status};
use kiln_store::Tx;
use kiln_store::sql::heartbeat;

use crate::{Denied, billing};

/// How many one closure writes: a few milliseconds of the ledger's time.
const AT_ONCE: usize = 1_000;

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

    /// What is to be written, as closures for the ledger that answer the truth about their jobs. Each takes so few that nobody
    /// waits long for it.
    pub fn take(
        &self,
    ) -> Vec<impl FnMut(&mut dyn Tx) -> Result<Vec<Truth>, Denied> + Send + use<>> {
        let mut waiting = self
            .waiting
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let beats: Vec<(i64, Beat)> = std::mem::take(&mut *waiting).into_iter().collect();
        let parts = beats.chunks(AT_ONCE).map(<[_]>::to_vec);
        parts
            .map(|part| move |tx: &mut dyn Tx| write(tx, &part))
            .collect()
    }
}

fn write(tx: &mut dyn Tx, beats: &[(i64, Beat)]) -> Result<Vec<Truth>, Denied> {
    let mut truths = Vec::with_capacity(beats.len());
    for &(id, beat) in beats {
        let Some(pulse) = heartbeat::pulse(tx, id)? else {
            continue;
        };
        let truth = Truth {
            job: id,
            believed: beat.epoch,
            epoch: pulse.epoch,
            status: pulse.status,
        };
        if !truth.is_over() {
            heartbeat::record(tx, id, beat.epoch, beat.tick)?;
            if truth.status == Status::Running {
                billing::charge_alive(tx, id, &pulse, beat.tick)?;
            }
        }
        truths.push(truth);
    }
    Ok(truths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_are_written_a_few_at_a_time() {
        let heartbeats = Heartbeats::default();
        for job in 0..2_500 {
            heartbeats.beat(job, 1, Millis(1));
        }
        assert_eq!(heartbeats.take().len(), 3);
        assert!(heartbeats.take().is_empty());
    }
}
