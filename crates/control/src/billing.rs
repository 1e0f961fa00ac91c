//! Runner minutes: what jobs owe, and how the one who bills is told.
//!
//! A minute becomes a row in the transaction that makes it due: when a job starts, with a heartbeat that is flushed, and when
//! the job ends (B1). The rows are an outbox. A kernel worker of its own takes them to the [`Sink`], at least once and each
//! under a key of its own, so that a sink that is slow or away delays nothing else.
//!
//! ```text
//! job starts, beats, ends ─▶ row (job, minute) ─▶ timer ─▶ sink ─▶ settled
//!                                                  ▲        ├─ trouble: the timer again, later and later
//!                                                  ╰────────┤
//!                                                           ╰─ refused: a frame of its own, and at last a dead letter
//! ```
//!
//! Minutes are counted in kernel time, from `started` to the end, every begun one whole and one at least. So no jump of a
//! clock is billed; on SQLite, where kernel time stands still while no server runs, neither is the time without a server.

mod charge;
mod handler;
mod outbox;
mod sink;
#[cfg(test)]
mod tests;
mod usage;

pub use handler::{BillingHandler, Prepared, worker};
pub use outbox::{BILLING, ensure};
pub use sink::{Delivery, NoBilling, Sink, Told, idempotency_key};
pub use usage::{Used, usage};

pub(crate) use charge::{charge, charge_alive};
