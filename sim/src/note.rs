//! What the server just did, for the checker: who said what, and what was answered.

use kiln_model::{Digest, Millis};

use crate::wire::Assignment;

#[derive(Clone, Debug)]
pub(crate) enum Note {
    /// A submission was acknowledged.
    Submitted { job: i64 },
    /// A runner asked for work and holds no job that could be given to it again. One on the bench channel has forgotten
    /// what it ran.
    Claim {
        runner: i64,
        /// Of several; none is the whole runner.
        slot: Option<u32>,
        forgets: bool,
        got: Option<i64>,
    },
    /// A runner spoke about a job, as the holder of the epoch in the assignment.
    Word { runner: i64, of: Assignment },
    /// What a runner had said before was said again, and must change nothing.
    Repeated,
    /// `running` was accepted.
    Started { job: i64, epoch: i64 },
    /// A sign of life was written: by a flush, or because the job was given to its holder again.
    Heard { job: i64, epoch: i64, tick: Millis },
    /// A result was acknowledged as accepted.
    Accepted {
        job: i64,
        epoch: i64,
        digest: Digest,
        body: Vec<u8>,
        /// What was uploaded beside it.
        uploaded: Option<String>,
    },
    /// A user was told that the job is canceled.
    ToldCanceled { job: i64 },
}
