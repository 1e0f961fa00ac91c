//! Recording what steps did, and running them again to see whether they still do it.
//!
//! A log starts with `KRL0` and a version. Each record follows as its length, its body, and a checksum over the body *and*
//! the checksum before it, so that a log that was cut, damaged or put together from two is noticed at the right place.

mod digest;
mod divergence;
mod format;
mod recorder;
mod replayer;

pub use digest::{ChangeDigest, Fnv128};
pub use divergence::{Divergence, Replayed};
pub use format::{LogError, LogReader, Logged};
pub use recorder::Recorder;
pub use replayer::replay;

#[cfg(test)]
mod tests;
