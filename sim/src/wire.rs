//! What runners and the server say to each other, without the encoding.
//!
//! The bench channel names a job by its public id and never speaks of epochs; both travel along here for the checker,
//! which wants to know whose words had an effect.

use kiln_model::v0::UploadProgress;

/// A job as its runner was given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) job: i64,
    pub(crate) epoch: i64,
    pub(crate) public_id: Option<String>,
    pub(crate) lease_id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Completed,
    Failed,
    Canceled,
}

/// The last word of a runner about a job, with what the job wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LastWord {
    pub(crate) of: Assignment,
    pub(crate) ending: Ending,
    pub(crate) text: String,
    /// Whether the text does not fit into the word, and is uploaded before it.
    pub(crate) is_large: bool,
}

/// A step of an upload, which goes before the last word that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UploadStep {
    pub(crate) of: Assignment,
    /// The whole, which the runner has on its disk.
    pub(crate) whole: String,
    /// The chunk that goes now; the last step has none and says that nothing is missing.
    pub(crate) chunk: Option<std::ops::Range<usize>>,
}

/// A runner's word on the bench channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Up {
    Ready,
    Running,
    Heartbeat,
    Upload(UploadStep),
    Last(LastWord),
}

/// The server's word on the bench channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Down {
    Job(Assignment),
    NoJob,
    /// By the row id of the job, which stands for its public id.
    Ack(i64),
    Cancel,
    /// How far an upload has come, or that it is not taken.
    Uploaded {
        job: i64,
        progress: Option<UploadProgress>,
    },
    Closed,
}

/// A request of a runner on the doors that name leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Claim,
    Start(Assignment),
    Beat(Assignment),
    Last(LastWord),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    Claimed(Option<Assignment>),
    Continue,
    /// The job is over, or not the runner's any more.
    Stop,
    /// The last word need not be said again.
    Settled,
}
