//! What all back ends that are machines share: the kernel, its initial file system, the disks, and one run.

mod ahead;
mod backend;
mod boot;
mod chamber;
mod file;
mod hypervisor;
mod initial;
mod initramfs;
mod kept;
mod kernel;
mod modules;
mod monitor;
mod placeholder;
pub(crate) mod scratch;
mod shelf;
mod unpacked;

pub use backend::Machines;
pub(crate) use boot::watch;
pub use boot::{BootEnd, BootReport};
pub(crate) use file::{HiddenFile, allocated_bytes, copy_with_holes};
pub(crate) use hypervisor::{
    Disks, Hypervisor, MONITOR_BYTES, Order, Shape, Started, Talked, WrittenDown,
};
pub(crate) use initial::InitialFiles;
pub use kernel::{GuestKernel, KernelError};
pub(crate) use monitor::{BOOT_PATIENCE, Monitor, Process};
pub(crate) use placeholder::Placeholders;
pub(crate) use shelf::{Shelf, Weighed};

/// What every guest kernel is told so that one run is like another: addresses that change from run to run, and large pages
/// that come when there happen to be some, show in timings. A machine has nobody else in it from whom to hide addresses.
/// Of the kernel's security modules a chamber has use for one, and of its pressure figures for none: the others would be asked
/// at every step.
pub(crate) const STEADY: &str = "norandmaps nokaslr transparent_hugepage=never lsm=landlock psi=0";
