//! A second world for the kernel alone: several runners on one store, handlers that fail as they are told, and crashes
//! between any two commits.
//!
//! There is one thread, and yet runners get in one another's way: while one prepares a frame, outside any transaction,
//! others may poll, time may pass, and timers may be canceled.

mod actor;
mod book;
mod checks;
mod content;
mod script;
mod stage;
mod world;

pub use world::run;
