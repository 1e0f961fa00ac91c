//! Processes: birth, death, and what they used.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd};

use kiln_guest_init::protocol::Usage;
use rustix::process::Pid;

use super::check;

/// Which side of a fork this is.
#[derive(Debug)]
pub(crate) enum Fork {
    Parent(Pid),
    Child,
}

/// Forks this single-threaded process into new namespaces, and into a v2 control group if one is given. The child's
/// parent is our own parent, so that the host watches PID 1 and not us.
///
/// A control group namespace is not among them: it would begin at our own group, not at the child's. Without a new
/// network it has ours.
pub(crate) fn clone_into_new_namespaces(
    group: Option<BorrowedFd<'_>>,
    new_network: bool,
) -> io::Result<Fork> {
    const FLAGS: libc::c_int = libc::CLONE_PARENT
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWNS
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUTS;
    /// `CLONE_INTO_CGROUP`, which does not fit into the type of the C library's constants.
    const INTO_GROUP: u64 = 1 << 33;
    // SAFETY: `clone_args` is plain integers, for which zero is a valid value.
    let mut args: libc::clone_args = unsafe { mem::zeroed() };
    args.flags = FLAGS.unsigned_abs().into();
    if new_network {
        args.flags |= u64::from(libc::CLONE_NEWNET.unsigned_abs());
    }
    if let Some(group) = group {
        args.flags |= INTO_GROUP;
        args.cgroup = u64::try_from(group.as_raw_fd()).map_err(io::Error::other)?;
    }
    // SAFETY: without CLONE_VM and with no stack this is a plain fork: the child runs on a copy of our memory. We have
    // one thread, so no lock can be held by another one.
    let pid =
        check(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) })?;
    Ok(fork_side(pid))
}

/// Forks this single-threaded process into a process namespace of its own.
pub(crate) fn clone_into_new_process_namespace() -> io::Result<Fork> {
    // SAFETY: `clone_args` is plain integers, for which zero is a valid value.
    let mut args: libc::clone_args = unsafe { mem::zeroed() };
    args.flags = libc::CLONE_NEWPID.unsigned_abs().into();
    args.exit_signal = libc::SIGCHLD.unsigned_abs().into();
    // SAFETY: as above.
    let pid =
        check(unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of_val(&args)) })?;
    Ok(fork_side(pid))
}

/// Gives this process a control group namespace of its own, whose root is the group it is in.
pub(crate) fn leave_group_namespace() -> io::Result<()> {
    // SAFETY: unshare takes flags and touches no memory of ours.
    check(unsafe { libc::unshare(libc::CLONE_NEWCGROUP) }.into()).map(drop)
}

/// Gives this process a network namespace of its own, whose loopback device is down.
pub(crate) fn leave_network_namespace() -> io::Result<()> {
    // SAFETY: as above.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }.into()).map(drop)
}

/// Forks this single-threaded process.
pub(crate) fn fork() -> io::Result<Fork> {
    // SAFETY: we have one thread, so no lock can be held by another one, and the child may run any code.
    let pid = check(libc::c_long::from(unsafe { libc::fork() }))?;
    Ok(fork_side(pid))
}

fn fork_side(pid: libc::c_long) -> Fork {
    let pid = i32::try_from(pid).expect("process ids fit into an i32");
    Pid::from_raw(pid).map_or(Fork::Child, Fork::Parent)
}

/// Sends a signal to every process of our process namespace except ourselves.
pub(crate) fn kill_everyone(signal: rustix::process::Signal) {
    // SAFETY: kill takes two integers and touches no memory of ours. It can only fail because nobody is left.
    unsafe { libc::kill(-1, signal.as_raw()) };
}

/// What all children that were waited for have used, with their own children.
pub(crate) fn children_usage() -> Usage {
    // SAFETY: `rusage` is plain integers, for which zero is a valid value.
    let mut raw: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live `rusage` of ours.
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut raw) };
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let micros = |time: libc::timeval| count(time.tv_sec) * 1_000_000 + count(time.tv_usec);
    Usage {
        elapsed_nanos: 0,
        user_micros: micros(raw.ru_utime),
        system_micros: micros(raw.ru_stime),
        peak_resident_bytes: count(raw.ru_maxrss) * 1024,
        minor_faults: count(raw.ru_minflt),
        major_faults: count(raw.ru_majflt),
        voluntary_switches: count(raw.ru_nvcsw),
        involuntary_switches: count(raw.ru_nivcsw),
        disk_full: false,
        oom_kills: 0,
        peak_memory_bytes: 0,
    }
}

/// Closes every descriptor from `first` on. The caller must own nothing there that it still wants to use.
pub(crate) fn close_all_from(first: u32) -> io::Result<()> {
    // SAFETY: the callers use it before they open anything of their own, or just before exec.
    check(unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) }).map(drop)
}
