//! What host and guest say to each other.
//!
//! ```text
//! host                                  guest
//!   ◀────────────────────────────── Up   a microVM has booted and waits for its orders
//!   Machine ─────────────────────────▶   to a microVM only
//!   Seal ────────────────────────────▶
//!   Wake ────────────────────────────▶   to a microVM only, if it was sealed before it was written down
//!   Start ───────────────────────────▶
//!   ◀──────────────────────────── Born   the process id of PID 1, for the host to watch
//!   ◀──────────────────────────── Held   if the seal says so: PID 1 has its namespaces, and waits
//!   Build ───────────────────────────▶   for this
//!   ◀─────────────────────────── Ready   the chamber is sealed, with its layers
//!   ◀───────────────────────── Started   the command was executed
//!   ◀──────────────── Output, Truncated  while it runs
//!   Kill ────────────────────────────▶   time is up, or canceled
//!   ◀────────────────────────── Exited   status and usage; nothing else runs any more
//!   ◀────────────── FileChunk, FileEnd   for each requested file
//!   ◀──────────────────────── Finished
//! ```
//!
//! `Failed` may replace any message of the guest and is its last one.

mod codec;
mod frame;
pub mod machine;
mod stage;
mod to_guest;
mod to_host;
pub mod uplink;

pub use codec::Malformed;
pub use frame::{Frame, FrameBuffer, HEADER_BYTES, MAX_BODY_BYTES, VERSION, read_frame};
pub use machine::{Machine, Scratch, Wake};
pub use stage::Stage;
pub use to_guest::{FileRequest, IdMap, Kill, ResourceLimit, Seal, Start, ToGuest, UNLIMITED};
pub use to_host::{FileOutcome, Layer, MAX_CHUNK_BYTES, Status, Stream, ToHost, Usage};
pub use uplink::Uplink;

#[cfg(test)]
mod tests;
