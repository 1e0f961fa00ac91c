//! The ledger: every write of this server, in order, many to a commit.
//!
//! ```text
//! submit ─▶ queue ─▶ ┌ begin ─ savepoint ─ closure ─ release ┐ ─▶ commit ─▶ answers ─▶ bells
//!                    └──────── once for each closure ────────┘
//! ```

mod batch;
mod fatal;
#[cfg(any(test, feature = "testing"))]
pub(crate) mod inline;
mod kernel_store;
pub(crate) mod pending;
pub(crate) mod queue;
pub(crate) mod submit;
pub(crate) mod task;
mod teller;
pub(crate) mod worker;

#[cfg(test)]
mod tests;

pub(crate) use kernel_store::status;

pub use fatal::Fatal;
#[cfg(any(test, feature = "testing"))]
pub use inline::{FaultPlan, NoFaults, Verdict};
pub use pending::Pending;
pub use submit::Ledger;
