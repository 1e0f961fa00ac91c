//! What happens to an agent, and what it wants done.

use kiln_model::v0::{ClaimedJob, ServerMessage};
use kiln_model::{JobUuid, Millis};

use crate::delivery::Attachment;
use crate::{Delivery, Offer};

/// When something happened, and the chance that goes with it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Monotonic.
    pub now: Millis,
    /// Any number; it only spreads reconnects over time.
    pub jitter: u32,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    Connected,
    /// Lost, or not come about.
    Disconnected,
    /// The server does not know this runner by this key.
    Refused,
    Received(ServerMessage),
    /// The set-up ended: ready to execute, or with the report of its failure.
    SetUp(Result<(), Delivery>),
    /// The execution ended, with its report.
    Executed(Delivery),
    /// The result is on disk.
    Spooled,
    /// The result could not be written to disk.
    NotSpooled,
    /// The output that goes beside a result is with the server, or is not taken.
    Uploaded {
        job: JobUuid,
        taken: bool,
    },
    /// Time has passed.
    Tick,
    /// Finish and deliver what is held, then end.
    Drain,
    /// Stop what is held, report it if that can be done soon, and end.
    Stop,
}

/// Something to do, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    Connect,
    /// Closes the channel in an orderly way: what the server has sent by then still arrives.
    Close,
    /// Drops the channel.
    Drop,
    Send(Outgoing),
    /// Remembers on disk that a job is held, then starts its set-up.
    SetUp(Box<ClaimedJob>),
    Execute,
    /// Stops set-up or execution; its end is still reported.
    StopWork,
    /// Writes a result to disk; then the job is no longer held. Answered by `Spooled` or `NotSpooled`.
    Spool(Delivery),
    /// Brings to the server what goes beside a result. Answered by `Uploaded`.
    Upload {
        job: JobUuid,
        large: Attachment,
    },
    /// Removes a delivered result from disk.
    Forget(JobUuid),
    Remark(Remark),
    Exit(Exit),
}

/// A message to the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outgoing {
    Ready {
        /// Whether to say what the runner is, which invites the offer of an update.
        introduce: bool,
    },
    Running,
    Heartbeat,
    Result(Delivery),
}

/// Something worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    /// A job came while another was held; there is no way to hand it back.
    UnexpectedJob(JobUuid),
    UpdateDeclined {
        version: String,
    },
    /// The server owed an answer for too long.
    NoAnswer,
}

/// Why the agent ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// As asked, with nothing left to deliver.
    Done,
    /// As asked, with something left that the next start will deliver.
    Undelivered,
    Unauthorized,
    /// To make room for the program that the server offers.
    Update(Box<Offer>),
}
