//! Who hears what the kernel does, for the numbers that operators watch.

use std::fmt;

use kiln_model::{Millis, Trigger};

/// Told from inside the transaction: of one that has to run again it hears twice.
pub trait Watch: Send + Sync + fmt::Debug {
    /// A job ended because one of its deadlines passed.
    fn passed(&self, trigger: Trigger);
    /// So many numbers of a job became a report's.
    fn measured(&self, metrics: usize);
    /// A clock for [`Watch::took`]; nothing else looks at it.
    fn clock(&self) -> Millis;
    /// A part of making a report was begun at that time of the clock, and is done.
    fn took(&self, part: Part, since: Millis);
}

/// What making a report of an output consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Outside the transaction: the text becomes numbers.
    Read,
    /// Inside it: they are judged and written.
    Write,
}

/// Nobody does.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn passed(&self, _: Trigger) {}

    fn measured(&self, _: usize) {}

    fn clock(&self) -> Millis {
        Millis(0)
    }

    fn took(&self, _: Part, _: Millis) {}
}
