//! Writing down what the kernel's worker is told and what it does about it, and telling it to the same code again.
//!
//! A worker is a function of its clock, the answers to its statements, and the answers of the world outside the database.
//! A [`Recorder`] writes each of those down beside the question; a [`Player`] gives the recorded answers, compares the
//! questions, and stops at the first that differs. There is no snapshot: what a step read is all of the database that it
//! depends on, whatever the doors wrote in between.

mod call;
mod divergence;
mod entry;
mod kernel_store;
mod line;
mod played;
mod player;
mod recorder;
#[cfg(test)]
mod tests;
mod value;

pub use divergence::Divergence;
pub use entry::Start;
pub use kernel_store::KernelStore;
pub use line::Unreadable;
pub use player::{Player, Replayed};
pub use recorder::Recorder;

pub(crate) use call::Frame;
#[doc(hidden)]
pub use call::Transcript;
