#![doc = include_str!("../README.md")]

pub mod access;
mod audit;
pub mod bench;
pub mod billing;
mod contacts;
mod credential;
mod denied;
pub mod fleet;
mod heartbeats;
pub mod housekeeping;
pub mod jobs;
pub mod limits;
pub mod live;
pub mod outputs;
pub mod people;
pub mod projects;
pub mod queues;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod session;
mod slugs;
pub mod tasks;
#[cfg(test)]
mod testing;

pub use contacts::Contacts;
pub use credential::Credential;
pub use denied::Denied;
pub use heartbeats::{Heartbeats, Truth};
pub use live::LiveOutput;
pub use slugs::NewSlug;
