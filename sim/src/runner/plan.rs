//! What will come of a job in the hands of a runner, drawn when it takes the job.

use crate::rng::Rng;
use crate::wire::Ending;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// When set-up is over; never, for a runner that is stuck in it.
    pub(crate) set_up: Option<i64>,
    /// How long it runs after that; for ever, for a job that hangs.
    pub(crate) run: Option<i64>,
    pub(crate) ending: Ending,
    /// Whether the output can be read.
    pub(crate) readable: bool,
}

impl Plan {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        Self {
            set_up: (!rng.percent(5)).then(|| rng.within(200..=6_000)),
            run: (!rng.percent(7)).then(|| rng.within(500..=18_000)),
            ending: if rng.percent(10) {
                Ending::Failed
            } else {
                Ending::Completed
            },
            readable: !rng.percent(8),
        }
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
