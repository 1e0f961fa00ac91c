//! The runner: takes frames out of one worker's inbox and off the timers, runs them, and settles each in one
//! transaction.
//!
//! ```text
//!            one write transaction     no transaction      one write transaction
//!   inbox ──▶ claim up to 64 rows ──▶ prepare each ──▶ for each, in a frame of its own:
//!   timers    (pass over live leases)                    check and drop lease + row
//!                                                        apply · intents · dedupe ──▶ done
//!                                                        or undo all that, and
//!                                                        requeue │ dead-letter, count
//!                                          after the commit: counters, log, replay, in row order
//! ```

mod apply;
mod claim;
mod dispose;
mod emit;
mod failures;
mod instance;
mod job;
mod poll;
mod prepare;
mod renew;
#[cfg(feature = "sabotage")]
mod split;

pub use instance::{LogSink, MetricsSink, ReplayHook, Runner, RunnerConfig, State, StepSink};
pub use job::{Disposition, StepRecord};
pub use poll::Polled;
pub use renew::LeaseKeeper;

/// How many rows one pass claims at most: enough to share the cost of a commit, few enough to finish within a lease.
pub const BATCH: usize = 64;
