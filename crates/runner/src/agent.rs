//! The agent: a pure state machine, and the one task that owns it and carries out what it wants.

mod agents;
mod backoff;
mod config;
mod disk;
mod error;
mod event;
mod limits;
mod owner;
mod shutdown;
mod state;
mod upload;
mod work;

pub use agents::Agents;
pub use config::AgentConfig;
pub use error::AgentError;
pub use event::{Effect, Event, Exit, Moment, Outgoing, Remark};
pub use owner::{Agent, Ended};
pub use shutdown::Shutdown;
pub use state::{Phase, State};
