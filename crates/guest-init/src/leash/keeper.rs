//! A process that stands between a leash and a program whose user changes on the way.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, WaitOptions, set_parent_process_death_signal, waitpid};

use crate::sys::{self, Fork};

/// Runs the program below a keeper and ends as it ends.
pub(super) fn keep(command: &mut Command) -> io::Result<ExitCode> {
    let (leash_lives, leash_end) = pipe_with(PipeFlags::CLOEXEC)?;
    match sys::clone_into_new_process_namespace()? {
        Fork::Child => {
            drop(leash_end);
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // A leash that died before that line sends no signal any more, but has closed its end.
            let mut fds = [PollFd::new(&leash_lives, PollFlags::IN)];
            poll(&mut fds, Some(&Timespec::default()))?;
            if !fds[0].revents().is_empty() {
                return Ok(ExitCode::FAILURE);
            }
            Ok(code_of(command.spawn()?.wait()?))
        }
        Fork::Parent(keeper) => loop {
            match waitpid(Some(keeper), WaitOptions::empty()) {
                Ok(Some((_, status))) => return Ok(code_of(ExitStatus::from_raw(status.as_raw()))),
                Ok(None) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        },
    }
}

/// As shells put it: signals from 128 on.
fn code_of(status: ExitStatus) -> ExitCode {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok())
        .map_or(ExitCode::FAILURE, ExitCode::from)
}
