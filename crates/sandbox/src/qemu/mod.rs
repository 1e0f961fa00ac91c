//! The `qemu` back end: the smallest machine QEMU has, emulated or accelerated, restored from a template for each run.

mod arguments;
mod backend;
mod boot;
mod qmp;
mod template;

pub(crate) use arguments::program_for_this_host;
pub(crate) use backend::Qemu;
pub use backend::{Accelerator, QemuConfig};
