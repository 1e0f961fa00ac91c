#![doc = include_str!("../README.md")]

pub mod attempt;
pub mod boot;
#[cfg(feature = "conformance")]
#[expect(
    clippy::unwrap_used,
    reason = "a behaviour that is not as it should be panics"
)]
pub mod conformance;
pub mod dead_letters;
pub mod dedupe;
pub mod describe;
mod drained;
pub mod events;
mod handler;
pub mod hex;
pub mod inbox;
pub mod intents;
pub mod keys;
pub mod kv;
pub mod leases;
pub mod mailbox;
pub mod memory;
mod metrics;
pub mod outbox;
mod policy;
pub mod records;
pub mod retries;
pub mod runner;
#[cfg(feature = "sabotage")]
pub mod sabotage;
pub mod scheduler;
mod slot;
mod status;
mod step;
mod tail;
pub mod timers;
pub mod wire;
pub mod worker;

pub use drained::Drained;
pub use handler::{ApplyOnly, Handler, Preparing, apply_only};
pub use keys::{InboxKey, OutboxKey, TimerKey};
pub use kv::{Dbi, Kv, KvTx};
pub use memory::MemoryKv;
pub use metrics::Metrics;
pub use policy::Policy;
pub use runner::{Disposition, Runner, RunnerConfig, StepRecord};
pub use slot::{LeaseKey, Slot};
pub use status::{Status, WireError};
pub use step::Step;
pub use wire::{Flags, Intent, Kind, Message, MessageView};
pub use worker::{Gate, OnError, Time, Worker, WorkerConfig};

#[cfg(test)]
mod tests;
