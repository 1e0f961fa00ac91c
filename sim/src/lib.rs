#![doc = include_str!("../README.md")]

mod clock;
mod crash;
mod invariants;
mod kernel;
mod note;
mod objects;
mod outcome;
mod rng;
mod runner;
mod schedule;
mod seed;
mod server;
mod shadow;
mod snapshot;
#[cfg(test)]
mod tests;
mod till;
mod town;
mod trace;
mod wire;
mod world;

pub use kernel::run as run_kernel;
pub use outcome::{Outcome, Violation};
pub use seed::run;
pub use world::{Options, run as run_jobs};
