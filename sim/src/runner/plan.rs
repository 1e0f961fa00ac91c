//! What will come of a job in the hands of a runner, drawn when it takes the job.

use super::{Act, Wake};
use crate::rng::Rng;
use crate::wire::Ending;

/// When a runner gives up by itself on a job that hangs: long after the server should have stopped it.
const OWN_TIMEOUT: i64 = 120_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// When set-up is over; never, for a runner that is stuck in it.
    set_up: Option<i64>,
    /// How long it runs after that.
    run: i64,
    ending: Ending,
    /// Whether the output can be read.
    readable: bool,
    /// Whether the output does not fit into a message.
    pub(crate) is_large: bool,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Self {
            set_up: (!rng.percent(5)).then(|| rng.within(200..=6_000)),
            run: if rng.percent(7) {
                OWN_TIMEOUT
            } else {
                rng.within(500..=18_000)
            },
            ending: if rng.percent(10) {
                Ending::Failed
            } else {
                Ending::Completed
            },
            readable: !rng.percent(8),
            is_large: rng.percent(30),
        }
    }

    /// What wakes the runner first.
    pub(crate) fn begin(&self, job: i64, epoch: i64) -> Act {
        match self.set_up {
            Some(millis) => Act::Wake(millis, Wake::SetUp(job, epoch)),
            None => Act::Wake(OWN_TIMEOUT, Wake::Finished(job, epoch)),
        }
    }

    /// What wakes it when set-up is over.
    pub(crate) const fn go_on(&self, job: i64, epoch: i64) -> Act {
        Act::Wake(self.run, Wake::Finished(job, epoch))
    }

    pub(crate) const fn ending(&self) -> Ending {
        if self.set_up.is_none() || self.run == OWN_TIMEOUT {
            return Ending::Failed;
        }
        self.ending
    }

    /// What the job writes: different for every attempt, so that a mix-up shows.
    pub(crate) fn text(&self, job: i64, epoch: i64, rng: &mut Rng) -> String {
        if self.readable {
            let value = rng.within(1..=1_000_000);
            format!("{{\"job {job} epoch {epoch}\": {{\"latency\": {{\"value\": {value}}}}}}}")
        } else {
            format!("job {job} epoch {epoch} wrote nonsense {}", rng.next())
        }
    }
}
