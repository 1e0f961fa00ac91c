//! The `process` back end: no sandbox at all, for hosts that can give none and for who says so.

mod backend;
mod chamber;
mod tree;

pub use backend::Processes;
