//! Bells: what a commit tells those who wait. A bell says "look again", never what there is to see.

/// What may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Bell {
    /// A job became claimable in this lane.
    Lane(i64),
    /// Something about this job changed: its status, its events.
    Job(i64),
    /// Something about this runner changed: its credential, whether it may take work.
    Runner(i64),
    /// A slot of this runner came free: a job in it ended.
    Slots(i64),
    /// The kernel has a new frame or an earlier timer.
    Kernel,
}
