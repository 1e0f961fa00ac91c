//! Optimistic attempts: run on a snapshot, remember what was read, and commit only if that still holds.
//!
//! An attempt reads without holding anybody up, stages its writes, and then takes one short write transaction that
//! compares, writes and publishes the intents, all or nothing. When something it read has changed, it runs again.

mod engine;
mod handler;
mod stack;
mod view;

pub use engine::{AttemptPolicy, AttemptStats, run};
pub use handler::AttemptHandler;
pub use stack::Stack;
pub use view::Attempt;
