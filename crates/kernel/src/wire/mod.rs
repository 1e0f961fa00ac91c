//! Frames on the wire: `LMSG` messages and `LINT` intents, byte for byte as the original has them.
//!
//! All numbers are little-endian. A frame states its own length, and that must be the length of the buffer: a frame
//! is never read out of the middle of something else.

pub(crate) mod bytes;
mod encode;
mod intent;
mod message;

pub use encode::EncodeError;
pub use intent::{INTENT_HEADER, Intent, IntentView, RawIntent};
pub use message::{Flags, Kind, MESSAGE_HEADER, Message, MessageView, RawMessage};

#[cfg(test)]
mod tests;
