#![doc = include_str!("../README.md")]

mod backend;
mod cancel;
mod cgroup;
mod command;
mod conversation;
mod deadline;
mod error;
mod exit;
mod firecracker;
mod guest;
mod kvm;
mod link;
mod microvm;
mod namespace;
mod output;
mod probe;
mod qemu;
mod spec;
mod survey;

pub use backend::{Backend, Chamber};
pub use cancel::CancelToken;
pub use cgroup::sweep;
pub use command::{Command, FileLimit, Limits, Resource};
pub use error::Error;
pub use exit::{CollectedFile, Exit, Outcome, Sealed, StreamEnd, Usage};
pub use firecracker::{Firecracker, FirecrackerConfig};
pub use kiln_guest_init::protocol::{FileOutcome, Layer, Stage, Stream};
pub use kvm::probe_kvm;
pub use microvm::{BootEnd, BootReport, GuestKernel, KernelError};
pub use namespace::Namespaces;
pub use output::{OutputSink, Transcript};
pub use probe::{Check, Host, Probe};
pub use qemu::{Accelerator, Qemu, QemuConfig};
pub use spec::{BaseKind, ChamberSpec, Missing, Rootfs};
pub use survey::{Finding, Programs, Survey};
