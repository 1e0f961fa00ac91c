//! What carries out a job, and what it tells about it.

mod conditions;
mod in_turn;
mod live;
mod quiet;
mod sandbox;

use std::fmt;

use futures_util::future::BoxFuture;
use kiln_model::v0::{ClaimedJob, Conditions};
use tokio_util::sync::CancellationToken;

use crate::{MAX_MESSAGE_BYTES, Output};

pub(crate) use in_turn::InTurn;
pub use live::LiveOutput;
pub use quiet::QuietHost;
pub use sandbox::{LocalImage, LocalJob, SandboxExecutor, SandboxExecutorConfig};

/// Carries out jobs: one at a time, or several that share the host.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Does everything that comes before the command runs. Ends soon after a cancel.
    fn set_up(
        &self,
        job: ClaimedJob,
        cancel: CancellationToken,
    ) -> BoxFuture<'static, Result<Box<dyn Prepared>, SetUpError>>;
}

/// A job that is ready to run.
pub trait Prepared: Send {
    /// Runs all iterations. Ends soon after a cancel; whatever the end, nothing of the job is left.
    fn execute(self: Box<Self>, terms: Terms) -> BoxFuture<'static, Execution>;
}

/// What an execution is told beside its job.
#[derive(Clone, Debug)]
pub struct Terms {
    pub cancel: CancellationToken,
    /// How many bytes of output can be delivered, about.
    pub output_bytes: usize,
    /// For what the command writes while it runs.
    pub live: LiveOutput,
}

impl Terms {
    /// For a result that is one message.
    pub fn new(cancel: CancellationToken) -> Self {
        Self {
            cancel,
            output_bytes: MAX_MESSAGE_BYTES,
            live: LiveOutput::default(),
        }
    }
}

/// Why a job could not be set up: the stage, the cause and what to do, in one text for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetUpError {
    pub error: String,
    pub conditions: Box<Conditions>,
}

/// How a job went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    pub verdict: Verdict,
    pub output: Output,
    pub conditions: Conditions,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Completed,
    /// With the reason, for a person.
    Failed(String),
}
