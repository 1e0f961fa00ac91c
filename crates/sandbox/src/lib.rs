#![doc = include_str!("../README.md")]

mod backend;
mod cancel;
mod cgroup;
mod command;
mod conversation;
mod deadline;
mod error;
mod exit;
mod guest;
mod namespace;
mod output;
mod probe;
pub mod quiet;
mod spec;
mod surroundings;

pub use backend::{Backend, Chamber};
pub use cancel::CancelToken;
pub use cgroup::sweep;
pub use command::{Command, FileLimit, Limits, Resource};
pub use error::Error;
pub use exit::{CollectedFile, Exit, Outcome, Sealed, StreamEnd, Usage};
pub use kiln_guest_init::protocol::{FileOutcome, Layer, Stage, Stream};
pub use kiln_model::v0::{CpuSample, Frequency, Pressure};
pub use namespace::Namespaces;
pub use output::{OutputSink, Transcript};
pub use probe::{Check, Host, Probe};
pub use spec::{ChamberSpec, Missing, Rootfs};
