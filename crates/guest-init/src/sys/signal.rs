//! Signals of PID 1 and of the command it starts.

use std::io;
use std::mem;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use super::check;

/// Blocks SIGCHLD and gives a descriptor that becomes readable instead.
pub(crate) fn block_child_signal() -> io::Result<OwnedFd> {
    let set = signal_set(&[libc::SIGCHLD]);
    // SAFETY: `set` is an initialised set; we do not ask for the old one.
    check(unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) }.into())?;
    // SAFETY: `set` is an initialised set; -1 asks for a new descriptor.
    let fd = check(
        unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) }
            .into(),
    )?;
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    // SAFETY: the kernel just gave us this descriptor; nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Gives the command the signal state a program expects: nothing blocked, and SIGPIPE, which the Rust runtime ignores,
/// back to its default.
pub(crate) fn reset_for_exec() -> io::Result<()> {
    // SAFETY: SIG_DFL installs no handler of ours.
    if unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    let none = signal_set(&[]);
    // SAFETY: `none` is an initialised set; we do not ask for the old one.
    check(unsafe { libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut()) }.into())
        .map(drop)
}

fn signal_set(signals: &[libc::c_int]) -> libc::sigset_t {
    // SAFETY: a zeroed set is a valid place for `sigemptyset` to initialise.
    let mut set: libc::sigset_t = unsafe { mem::zeroed() };
    // SAFETY: the pointer is to a live set of ours.
    unsafe { libc::sigemptyset(&raw mut set) };
    for &signal in signals {
        // SAFETY: the set is initialised and the signal number is one of the C library's constants.
        unsafe { libc::sigaddset(&raw mut set, signal) };
    }
    set
}
