#![doc = include_str!("../README.md")]

pub mod bench;
mod credential;
mod denied;
mod heartbeats;
pub mod jobs;
pub mod queues;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod session;
pub mod tasks;
#[cfg(test)]
mod testing;

pub use credential::Credential;
pub use denied::Denied;
pub use heartbeats::{Heartbeats, Truth};
