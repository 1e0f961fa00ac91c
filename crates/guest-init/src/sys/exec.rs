//! The last steps of a child before and at exec.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

use super::check;

/// Arguments and environment in the form exec wants, made before the fork.
#[derive(Debug)]
pub(crate) struct Program {
    args: Vec<CString>,
    env: Vec<CString>,
}

impl Program {
    pub(crate) fn new(args: Vec<CString>, env: Vec<CString>) -> Self {
        Self { args, env }
    }

    /// Replaces this process. Returns only on failure.
    pub(crate) fn execute(&self, path: &CStr) -> io::Error {
        let args = null_terminated(&self.args);
        let env = null_terminated(&self.env);
        // SAFETY: both arrays end with a null pointer and point to strings that outlive the call.
        unsafe { libc::execve(path.as_ptr(), args.as_ptr(), env.as_ptr()) };
        io::Error::last_os_error()
    }
}

fn null_terminated(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings
        .iter()
        .map(|string| string.as_ptr())
        .chain([ptr::null()])
        .collect()
}

/// Makes these descriptors 0, 1 and 2. They must be above 2 themselves.
pub(crate) fn use_as_standard_streams(streams: [BorrowedFd<'_>; 3]) -> io::Result<()> {
    for (target, stream) in (0..).zip(streams) {
        // SAFETY: dup2 on open descriptors; 0, 1 and 2 belong to nobody in a child that is about to exec.
        check(unsafe { libc::dup2(stream.as_raw_fd(), target) }.into())?;
    }
    Ok(())
}

/// Puts `/dev/null` in the place of standard input.
pub(crate) fn forget_standard_input() -> io::Result<()> {
    let null = File::open("/dev/null")?;
    // SAFETY: dup2 on an open descriptor; nobody owns 0 but the runtime, to which any file is the same.
    check(unsafe { libc::dup2(null.as_raw_fd(), 0) }.into()).map(drop)
}

/// Ends this process at once: no destructors, no buffers, nothing a forked child could do twice.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: _exit never returns and needs nothing.
    unsafe { libc::_exit(code) }
}
