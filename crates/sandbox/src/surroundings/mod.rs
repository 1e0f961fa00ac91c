//! What went on around a run: what the host's CPUs did besides, what was waited for, how fast they were clocked.

mod cpus;
mod frequency;
mod host;
mod pressure;
mod processes;
mod steal;

pub(crate) use cpus::parse_list;
use frequency::Clocks;
pub(crate) use host::HostFiles;
pub(crate) use pressure::{PressureFiles, Waited};
pub(crate) use processes::cpu_of_tree;
pub(crate) use steal::Steal;
