//! The `namespace` back end.

mod backend;
mod chamber;
mod guest_process;
mod ids;
mod network;
pub(crate) mod run;
pub(crate) mod watch;

pub use backend::Namespaces;
pub(crate) use network::sweep as sweep_networks;
