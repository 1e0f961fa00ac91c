//! One claimed frame on its way, and how it ended.

use kiln_model::Millis;

use crate::records::Lease;
use crate::slot::Slot;
use crate::{Status, WireError};

/// A claimed frame.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) slot: Slot,
    pub(super) token: Lease,
    pub(super) frame: Vec<u8>,
    /// The id was accepted before, so there is nothing to prepare.
    pub(super) repeated: bool,
}

/// A claimed frame after the first half.
#[derive(Debug)]
pub(super) struct Job<P> {
    pub(super) claimed: Claimed,
    pub(super) ready: Ready<P>,
    pub(super) prepared_at: Millis,
    pub(super) prepare_ms: u64,
}

#[derive(Debug)]
pub(super) enum Ready<P> {
    Undecodable(WireError),
    /// Misrouted, or refused by the first half.
    Refused(Status),
    Repeated,
    Prepared(P),
}

/// How a job ended inside the transaction.
#[derive(Clone, Debug)]
pub(super) enum Outcome {
    Settled(Settled),
    /// The claim was gone: another has the row, or it was cancelled. Nothing was changed.
    Lost,
}

#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// Why the step failed, if it did.
    pub(super) failure: Option<Status>,
    /// What the poll returns for it; retryable failures and dead frames are dealt with here and return nothing.
    pub(super) returned: Option<Status>,
    pub(super) disposition: Disposition,
}

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Its effects are committed and it is gone.
    Acked,
    /// Its id was accepted before; it is gone without having run.
    Repeated,
    /// It will be tried again: an inbox row at its new sequence, a timer where it is.
    Requeued { seq: u64, failures: u32 },
    /// It was given up, and lies at this sequence of the worker's dead letters.
    DeadLettered { seq: u64, failures: u32 },
    /// Not even its failure could be recorded; it stays where it is.
    Kept,
}

/// All there is to know about one committed step, for recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepRecord<'a> {
    pub worker: u64,
    pub slot: Slot,
    /// The clock as the first half saw it.
    pub prepared_at: Millis,
    /// The clock as the second half saw it.
    pub applied_at: Millis,
    pub frame: &'a [u8],
    pub code: i32,
    pub disposition: Disposition,
}
