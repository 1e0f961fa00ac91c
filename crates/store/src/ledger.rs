//! The ledger: every write of this server, in order, many to a commit.
//!
//! ```text
//! submit ─▶ queue ─▶ begin ─▶ ┌ enter ─ closure ─ leave ┐ ─▶ commit ─▶ answers ─▶ bells
//!                             └── once for each closure ┘
//! ```
//!
//! A closure that fails is undone alone. The savepoint that this takes is saved as long as nobody needs it: when a closure
//! that has changed something fails, the transaction is rolled back and its closures run again, each in a savepoint, and so
//! do those of the next transactions.

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
