//! Starting a program of the host that must not outlive the thread that asked for it.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::sys;

/// What shells answer for a program that cannot be executed.
const CANNOT_EXECUTE: u8 = 126;

/// The first descriptor after the standard streams.
const FIRST_OPENED: u8 = 3;

/// Becomes a program. The arguments are the process id of who asks, files to open for reading (they become descriptors
/// 3, 4, …), `--`, the program, and its own arguments. Returns only on failure.
pub(crate) fn exec(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let Some(master) = arguments
        .next()
        .and_then(|pid| pid.to_str()?.parse().ok())
        .and_then(Pid::from_raw)
    else {
        return ExitCode::from(2);
    };
    // It survives exec.
    if set_parent_process_death_signal(Some(Signal::KILL)).is_err() {
        return ExitCode::FAILURE;
    }
    // Who died before that line sends no signal any more.
    if getppid() != Some(master) {
        return ExitCode::FAILURE;
    }
    // The host's process may hold descriptors that were not meant for the program.
    if sys::close_all_from(FIRST_OPENED.into()).is_err() {
        return ExitCode::FAILURE;
    }
    let files = arguments.by_ref().take_while(|argument| argument != "--");
    for (expected, file) in (RawFd::from(FIRST_OPENED)..).zip(files) {
        let opened = openat(CWD, file, OFlags::RDONLY, Mode::empty());
        // Left open on purpose: it is the program's.
        if opened.map(IntoRawFd::into_raw_fd) != Ok(expected) {
            return ExitCode::FAILURE;
        }
    }
    let Some(program) = arguments.next() else {
        return ExitCode::from(2);
    };
    // Only an error comes back.
    let error = Command::new(&program).args(arguments).exec();
    let complaint = format!("cannot run {}: {error}", Path::new(&program).display());
    // The exit code says enough if nobody reads.
    let _ = io::stderr().write_all(complaint.as_bytes());
    ExitCode::from(CANNOT_EXECUTE)
}
