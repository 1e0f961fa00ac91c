//! Whether KVM is of use on this host.

mod probe;

pub use probe::probe_kvm;
