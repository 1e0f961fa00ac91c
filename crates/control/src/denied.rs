//! Why a use case did not do what it was asked. Every denial has a name; a door turns it into its own words.

use kiln_model::{Status, Trigger};

#[derive(Clone, Debug, thiserror::Error)]
pub enum Denied {
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The caller does not hold the job's current lease.
    #[error("the lease of this job is not yours, or not yours any more")]
    NotHolder,
    /// The credential was replaced, or its owner archived, since it was checked.
    #[error("the credential is not valid any more")]
    Revoked,
    #[error("a {from} job does not change by {}", trigger.name())]
    Illegal { from: Status, trigger: Trigger },
    /// Somebody else changed the row in between: read again.
    #[error("the job was changed at the same time")]
    Raced,
    #[error("the job has ended already: it is {0}")]
    Ended(Status),
    #[error("the queue takes no new work")]
    QueueClosed,
    /// The retry limit of the queue.
    #[error("the job was retried {0} times already, which is its limit")]
    RetriesSpent(u32),
    #[error("{0}")]
    Invalid(String),
    #[error("{0} is taken")]
    Taken(&'static str),
    #[error("this {what} cannot be deleted: {why}")]
    InUse {
        what: &'static str,
        why: &'static str,
    },
    /// It would contradict what is there.
    #[error("{0}")]
    Conflict(&'static str),
    /// More than a server takes.
    #[error("{0}")]
    TooLarge(String),
    /// A chunk of an upload does not go on where the upload ends.
    #[error("the upload has {received} bytes so far: go on there")]
    OutOfOrder { received: u64 },
    /// A result names an output that is not here, or not whole.
    #[error("the output that this result names is not here: upload it first")]
    NotUploaded,
    /// Nobody in particular asks, and that is not enough.
    #[error("a valid key is needed")]
    Unauthorized,
    /// The thing is no secret to the caller, but what they want with it is not theirs to do.
    #[error("these credentials do not allow it")]
    Forbidden,
    #[error(transparent)]
    TooMany(#[from] crate::limits::Exceeded),
    #[error(transparent)]
    Store(#[from] kiln_store::Error),
    #[error(transparent)]
    Kernel(#[from] kiln_kernel::Status),
}
