//! The `namespace` back end.

mod backend;
mod blueprint;
mod chamber;
mod disk;
mod elsewhere;
mod guest_process;
mod ids;
mod launcher;
mod line;
pub(crate) mod run;
mod standby;
pub(crate) mod watch;

pub use backend::Namespaces;
pub(crate) use guest_process::GuestProcess;
pub(crate) use standby::Standby;
