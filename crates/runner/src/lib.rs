#![doc = include_str!("../README.md")]

mod agent;
mod channel;
mod delivery;
mod executor;
mod host;
mod output;
mod report;
mod spool;
mod timer;
mod update;

pub use agent::{
    Agent, AgentConfig, AgentError, Agents, Effect, Ended, Event, Exit, Moment, Outgoing, Phase,
    Remark, Shutdown, State,
};
pub use delivery::{Attachment, Delivery, MAX_MESSAGE_BYTES, NotADelivery};
pub use executor::{
    Execution, Executor, LiveOutput, LocalImage, LocalJob, Prepared, QuietHost, SandboxExecutor,
    SandboxExecutorConfig, SetUpError, Terms, Verdict,
};
pub use host::host_facts;
pub use output::{Captured, Iteration, Output};
pub use timer::{Timer, TokioTimer};
pub use update::{Candidate, Offer, Program, Standing, UpdateError, Updates};
