//! What the kernel does is counted where it does it, whether or not a runner is connected.

use kiln_control::tasks::{Part, Watch};
use kiln_model::{Millis, Trigger};

use super::{Count, Span};
use crate::app::Shared;

#[derive(Debug)]
pub(crate) struct Counting(pub(crate) Shared);

impl Watch for Counting {
    fn passed(&self, trigger: Trigger) {
        if let Some(what) = Count::passed(trigger) {
            self.0.metrics.count(what);
        }
    }

    fn measured(&self, metrics: usize) {
        self.0.metrics.add(Count::MetricsCreate, metrics);
    }

    fn clock(&self) -> Millis {
        self.0.clock.monotonic()
    }

    fn took(&self, part: Part, since: Millis) {
        let what = match part {
            Part::Read => Span::ReportProcess,
            Part::Write => Span::ReportWrite,
        };
        self.0.time(what, since);
    }
}
