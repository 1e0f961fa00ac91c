//! What all back ends that are machines share: the kernel, its initial file system, the disks, and one run.

mod boot;
mod chamber;
mod file;
mod initramfs;
mod kernel;
mod modules;
mod monitor;
mod scratch;

pub(crate) use boot::watch;
pub use boot::{BootEnd, BootReport};
pub(crate) use chamber::{Disks, Hypervisor, MachineChamber, Order, Shape};
pub(crate) use file::HiddenFile;
pub(crate) use initramfs::initramfs;
pub use kernel::{GuestKernel, KernelError};
pub(crate) use monitor::{Monitor, Process};
