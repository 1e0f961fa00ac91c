//! The `namespace` back end.

mod backend;
mod chamber;
mod guest_process;
mod ids;
mod run;

pub use backend::Namespaces;
