#![doc = include_str!("../README.md")]

mod agent;
mod channel;
mod delivery;
mod executor;
mod output;
mod report;
mod spool;
mod timer;

pub use agent::{
    Agent, AgentConfig, AgentError, Effect, Event, Exit, Moment, Outgoing, Phase, Remark, Shutdown,
    State,
};
pub use delivery::{Delivery, MAX_MESSAGE_BYTES, NotADelivery};
pub use executor::{
    Conditions, Execution, Executor, IterationUsage, Prepared, SandboxExecutor,
    SandboxExecutorConfig, SealedLayer, SetUpError, StageTimes, Truncated, Verdict,
};
pub use output::{Captured, Iteration, Output};
pub use timer::{Timer, TokioTimer};
