//! Ours: what a job writes while it runs. It may be lost on the way, and then there is a gap; the output at the end has all.

use serde::{Deserialize, Serialize};

use super::TextKind;

/// The header of a channel's answer in which a server says that it takes output while a job runs, and how many bytes of it
/// in one message.
pub const LIVE_OUTPUT_HEADER: &str = "kiln-live-output";

/// A piece of what a job has written to one of its streams.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveText {
    /// From 0.
    pub iteration: u64,
    pub stream: TextKind,
    /// How much was written to the stream before.
    pub start: u64,
    pub text: String,
}
