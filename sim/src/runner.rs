//! Fake runners: small state machines with a memory that a crash empties and a disk that it does not.

mod bench;
mod lease;
mod plan;

pub(crate) use bench::BenchRunner;
pub(crate) use lease::LeaseRunner;
pub(crate) use plan::Plan;

use crate::wire::{Request, Up};

/// How often a runner shows that it is alive, asks for work, and repeats what was not answered.
pub(crate) const PULSE: i64 = 4_000;

/// What a runner wants done. The world does it, late, twice, or not at all.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Open a channel; an older one of this process is given up.
    Open,
    /// Say it on the channel.
    Say(Up),
    /// Send a request of its own.
    Ask(Request),
    /// Wake this process later.
    Wake(i64, Wake),
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    Pulse,
    /// Set-up of this job and epoch is over.
    SetUp(i64, i64),
    /// This job and epoch is through.
    Finished(i64, i64),
}
