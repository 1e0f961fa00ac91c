//! What a runner tells those who watch: log events for operators, replay events for reconstruction.
//!
//! Events of a step come after its transaction has committed, so an observer never sees what did not happen.

use kiln_model::Millis;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LogKind {
    StepRetryableFailure,
    StepNonRetryableFailure,
    DispositionRequeue,
    DispositionDeadLetter,
    WorkerError,
}

impl LogKind {
    pub const fn code(self) -> u8 {
        match self {
            Self::StepRetryableFailure => 0,
            Self::StepNonRetryableFailure => 1,
            Self::DispositionRequeue => 2,
            Self::DispositionDeadLetter => 3,
            Self::WorkerError => 4,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogEvent {
    pub kind: LogKind,
    pub worker: u64,
    /// The sequence of the row or timer; 0 for an error of the worker itself.
    pub seq: u64,
    pub code: i32,
    /// The count of failures for dispositions, the number of processed messages for worker errors, otherwise 0.
    pub detail: u32,
    pub at: Millis,
    /// The failure in words.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplayKind {
    InboxAttempt,
    InboxResult,
    TimerAttempt,
    TimerResult,
    DispositionRequeue,
    DispositionDeadLetter,
}

impl ReplayKind {
    pub const fn code(self) -> u8 {
        match self {
            Self::InboxAttempt => 0,
            Self::InboxResult => 1,
            Self::TimerAttempt => 2,
            Self::TimerResult => 3,
            Self::DispositionRequeue => 4,
            Self::DispositionDeadLetter => 5,
        }
    }
}

/// The frame belongs to the runner and is valid during the call only; copy what you keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayEvent<'a> {
    pub kind: ReplayKind,
    pub worker: u64,
    /// Where the row was when it was tried, also for a requeue.
    pub seq: u64,
    pub code: i32,
    pub frame: &'a [u8],
    pub at: Millis,
}
