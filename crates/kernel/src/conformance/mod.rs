//! The behaviours that every store must show under the kernel: the seed's, the guards against the original's weak
//! points, and the contract of [`crate::Kv`] itself.
//!
//! Each is a function that takes a fresh, empty store and panics when something is not as it should be.
//! [`kernel_conformance!`](crate::kernel_conformance) makes a test of each:
//!
//! ```
//! # #[cfg(test)]
//! mod on_memory {
//!     kiln_kernel::kernel_conformance!(kiln_kernel::MemoryKv::new);
//! }
//! ```

mod attempts;
mod behaviours;
mod dead_letter;
mod dedupe;
mod inbox;
mod leases;
mod lifecycle;
mod mailbox;
mod observers;
mod outbox;
mod stage;
mod store;
mod timers;
mod weak_points;
mod workers;

pub use attempts::*;
pub use dead_letter::*;
pub use dedupe::*;
pub use inbox::*;
pub use leases::*;
pub use lifecycle::*;
pub use mailbox::*;
pub use observers::*;
pub use outbox::*;
pub use store::*;
pub use timers::*;
pub use weak_points::*;
pub use workers::*;
