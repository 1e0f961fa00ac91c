//! Who hears what the kernel does, for the numbers that operators watch.

use std::fmt;

use kiln_model::Trigger;

/// Told from inside the transaction: of one that has to run again it hears twice.
pub trait Watch: Send + Sync + fmt::Debug {
    /// A job ended because one of its deadlines passed.
    fn passed(&self, trigger: Trigger);
    /// So many numbers of a job became a report's.
    fn measured(&self, metrics: usize);
}

/// Nobody does.
#[derive(Clone, Copy, Debug)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn passed(&self, _: Trigger) {}

    fn measured(&self, _: usize) {}
}
