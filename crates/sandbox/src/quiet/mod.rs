//! Quiet hosts: settings that keep a machine still while it measures, and how still it is.
//!
//! Every setting is written to a journal in `/run` before it is changed, read back after, and put back at the end: by the
//! process that changed it, or by the next one if that was killed.

mod cores;
mod files;
mod interrupts;
mod journal;
mod knobs;
mod latency;
mod partition;
mod plan;
mod preflight;
mod probe;
mod tuning;
mod watched;

pub use cores::{core_split, pin_this_process, pin_this_thread, usable_cores};
pub use plan::{Choice, PARTITION, TuningPlan, UnknownKnob};
pub use preflight::warnings;
pub use probe::{ProbeLength, probe};
pub use tuning::{Lifted, Tuning, TuningError, undo};
