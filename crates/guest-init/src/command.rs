//! Starting the command: a child that gives up every privilege, one layer after another, and becomes the user's program.

mod root;
mod standby;

use std::ffi::CString;
use std::fs;
use std::io::{PipeReader, PipeWriter, Read, Write, pipe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

use kiln_guest_init::protocol::{IdMap, Layer, Stage, Start, Stream};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, chdir, chroot, set_parent_process_death_signal, setsid, umask};
use rustix::thread::nanosleep;
use rustix::time::Timespec;

use crate::fault::{At, Fault};
use crate::limits::{self, Planned};
use crate::privileges;
use crate::stopwatch::Stopwatch;
use crate::supervise::{Process, Pump};
use crate::sys::{self, Fork, Program};

pub(crate) use root::Root;
pub(crate) use standby::Standby;

/// A second in all: a fork takes less than a millisecond to execute its program, unless the host is very busy.
const BUSY_ATTEMPTS: u32 = 200;
const BUSY_REST: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 5_000_000,
};

/// The command, executed, and the layers it is under.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) layers: Vec<Layer>,
}

/// Everything the child needs, made before the fork so that the child only makes system calls.
struct Plan<'a> {
    start: &'a Start,
    ids: IdMap,
    program: Program,
    candidates: Vec<CString>,
    limits: Vec<Planned>,
    /// The root to change to.
    root: Option<&'a str>,
}

/// Starts the command without any wall around it. Returns once it was executed.
pub(crate) fn start_bare(start: &Start, ids: IdMap, root: &Root) -> Result<Running, Fault> {
    let limits = limits::plan(&start.limits)?;
    let layers = limits.iter().map(|limit| limit.layer.clone()).collect();
    let located = Start {
        cwd: root.locate_directory(&start.cwd)?,
        ..start.clone()
    };
    let plan = Plan {
        start: &located,
        ids,
        program: program(start)?,
        candidates: c_strings(&root.locate_programs(candidates(start)?))?,
        limits,
        root: root.to_change_to(),
    };
    let process = spawn(&plan)?;
    Ok(Running { process, layers })
}

fn program(start: &Start) -> Result<Program, Fault> {
    let variables: Vec<String> = start
        .env
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    Ok(Program::new(
        c_strings(&start.args)?,
        c_strings(&variables)?,
    ))
}

fn open_null() -> Result<OwnedFd, Fault> {
    openat(
        CWD,
        "/dev/null",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )
    .at(Stage::Exec, || "cannot open /dev/null".into())
}

fn make_pipe() -> Result<(PipeReader, PipeWriter), Fault> {
    pipe().at(Stage::Exec, || "cannot make a pipe".into())
}

fn make_stopwatch() -> Result<Stopwatch, Fault> {
    Stopwatch::new().at(Stage::Exec, || "cannot share memory".into())
}

fn spawn(plan: &Plan<'_>) -> Result<Process, Fault> {
    let stdin = open_null()?;
    let (stdout, stdout_end) = make_pipe()?;
    let (stderr, stderr_end) = make_pipe()?;
    let (trouble, trouble_end) = make_pipe()?;
    let since = make_stopwatch()?;
    match sys::fork().at(Stage::Exec, || "cannot fork".into())? {
        Fork::Child => {
            let ready = take_streams([stdin.as_fd(), stdout_end.as_fd(), stderr_end.as_fd()])
                .and_then(|()| enter(plan))
                .and_then(|()| follow_host());
            let fault = match ready {
                Ok(()) => execute(plan, &since),
                Err(fault) => fault,
            };
            report(trouble_end, &fault);
            sys::exit_now(127)
        }
        Fork::Parent(pid) => {
            drop((stdout_end, stderr_end, trouble_end));
            check_executed(pid, trouble)?;
            Ok(Process {
                pid,
                since,
                pumps: vec![
                    Pump::new(Stream::Stdout, stdout.into(), plan.start.stdout_bytes),
                    Pump::new(Stream::Stderr, stderr.into(), plan.start.stderr_bytes),
                ],
            })
        }
    }
}

/// The first steps of a child that will be a command.
fn take_streams(streams: [BorrowedFd<'_>; 3]) -> Result<(), Fault> {
    setsid().at(Stage::Exec, || "cannot start a session".into())?;
    sys::use_as_standard_streams(streams)
        .at(Stage::Exec, || "cannot set the standard streams".into())?;
    umask(Mode::from_raw_mode(0o022));
    Ok(())
}

/// Goes where the command runs, and becomes who runs it.
fn enter(plan: &Plan<'_>) -> Result<(), Fault> {
    let start = plan.start;
    if let Some(root) = plan.root {
        chroot(root).at(Stage::PivotRoot, || format!("cannot change to {root}"))?;
        make_working_directory(&start.cwd)?;
    }
    // As in other container runtimes, a working directory may be one that only root can enter.
    chdir(start.cwd.as_str()).at(Stage::WorkDir, || format!("cannot enter {}", start.cwd))?;
    limits::apply(&plan.limits)?;
    privileges::become_command_user(plan.ids, start.uid, start.gid, &start.groups)
}

/// A change of ids has let go of the host, to which a command without walls is bound by nothing else.
fn follow_host() -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL))
        .at(Stage::Exec, || "cannot follow the host".into())?;
    sys::reset_for_exec().at(Stage::Exec, || "cannot reset signals".into())
}

fn execute(plan: &Plan<'_>, since: &Stopwatch) -> Fault {
    let mut worst = Errno::NOENT;
    for path in &plan.candidates {
        match while_busy(|| {
            since.start();
            let error = plan.program.execute(path);
            Errno::from_io_error(&error).unwrap_or(Errno::IO)
        }) {
            Errno::NOENT | Errno::NOTDIR => {}
            Errno::ACCESS => worst = Errno::ACCESS,
            other => {
                worst = other;
                break;
            }
        }
    }
    let name = plan.start.args.first().map_or("", String::as_str);
    Fault::os(
        Stage::Exec,
        worst.raw_os_error(),
        format!("cannot execute {name}"),
    )
}

/// Tries again as long as the program is being written. It was written before we were told of it, but who forks at that moment
/// has it open for writing too, until they execute something else.
fn while_busy(mut attempt: impl FnMut() -> Errno) -> Errno {
    for _ in 0..BUSY_ATTEMPTS {
        match attempt() {
            Errno::TXTBSY => {}
            errno => return errno,
        }
        // Cut short by a signal, it only tries sooner.
        let _ = nanosleep(&BUSY_REST);
    }
    attempt()
}

/// Sends the fault to PID 1 as a message of the guest protocol. The pipe closes by itself at exec.
fn report(mut trouble: PipeWriter, fault: &Fault) {
    // If PID 1 is gone, so is everyone who could want to know.
    let _ = trouble.write_all(&fault.to_message().to_frame());
}

fn check_executed(pid: Pid, mut trouble: PipeReader) -> Result<(), Fault> {
    let mut frame = Vec::new();
    trouble
        .read_to_end(&mut frame)
        .at(Stage::Exec, || "cannot hear from the command".into())?;
    if frame.is_empty() {
        return Ok(());
    }
    // Nobody else waits for it, and a dead process is no reason to fail twice.
    let _ = rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::empty());
    Err(Fault::from_frame(&frame))
}

fn make_working_directory(path: &str) -> Result<(), Fault> {
    if Path::new(path).is_dir() {
        return Ok(());
    }
    umask(Mode::from_raw_mode(0o022));
    fs::create_dir_all(path).at(Stage::WorkDir, || format!("cannot make {path}"))
}

fn user_layer(start: &Start, ids: IdMap) -> Option<Layer> {
    match ids {
        IdMap::Single { .. } if !start.groups.is_empty() => Some(Layer::missing(
            "groups",
            "an ordinary host user cannot give supplementary groups",
        )),
        IdMap::Single { .. } | IdMap::Shifted { .. } | IdMap::Identity { .. } => None,
    }
}

/// Where the program may be, as paths in the command's root.
fn candidates(start: &Start) -> Result<Vec<String>, Fault> {
    match start.programs() {
        programs if programs.is_empty() => Err(Fault::new(Stage::Exec, "there is no command")),
        programs => Ok(programs),
    }
}

fn c_strings(texts: &[String]) -> Result<Vec<CString>, Fault> {
    let zero = |_| Fault::new(Stage::Exec, "an argument or variable contains a zero byte");
    texts
        .iter()
        .map(|text| CString::new(text.as_str()).map_err(zero))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_busy_for_a_moment_is_tried_again() {
        let mut answers = [Errno::TXTBSY, Errno::TXTBSY, Errno::ACCESS].into_iter();
        let errno = while_busy(|| answers.next().unwrap_or(Errno::IO));
        assert_eq!(errno, Errno::ACCESS);
    }

    #[test]
    fn a_program_that_stays_busy_is_given_up() {
        let mut attempts = 0;
        let errno = while_busy(|| {
            attempts += 1;
            Errno::TXTBSY
        });
        assert_eq!((errno, attempts), (Errno::TXTBSY, BUSY_ATTEMPTS + 1));
    }
}
