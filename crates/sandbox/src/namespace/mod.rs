//! The `namespace` back end.

mod backend;
mod chamber;
mod guest_process;
mod ids;
pub(crate) mod run;
pub(crate) mod watch;

pub use backend::Namespaces;
