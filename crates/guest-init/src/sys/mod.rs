//! The system calls that `rustix` does not offer in safe form. All of this program's `unsafe` is here.

#![expect(
    unsafe_code,
    reason = "fork, exec, signals and the newest system calls have no safe wrapper"
)]

mod exec;
#[cfg(target_arch = "x86_64")]
mod kvm;
mod landlock;
mod machine;
mod mount;
mod process;
mod shared;
mod signal;
mod uplink;

pub(crate) use exec::{Program, exit_now, forget_standard_input, use_as_standard_streams};
#[cfg(target_arch = "x86_64")]
pub(crate) use kvm::{Exit, VirtualMachine};
pub(crate) use landlock::Ruleset;
pub(crate) use machine::{accept, listen_on_vsock, reseed};
pub(crate) use mount::{map_mount_ids, set_read_only};
pub(crate) use process::{
    Fork, children_usage, clone_into_new_namespaces, clone_into_new_process_namespace,
    close_all_from, fork, kill_everyone, leave_group_namespace, leave_network_namespace,
};
pub(crate) use shared::SharedNumber;
pub(crate) use signal::{block_child_signal, reset_for_exec};
pub(crate) use uplink::{bring_device_up, bring_loopback_up, connect_device};

use std::io;

/// The result of a raw system call: negative means `errno`.
fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}
