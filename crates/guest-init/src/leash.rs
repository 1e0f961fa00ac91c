//! Starting a program of the host that must not outlive the thread that asked for it.
//!
//! ```text
//! asker ──▶ leash ══becomes══▶ program                        a program that stays who it is
//! asker ──▶ leash ──clone──▶ keeper ──fork──▶ program         one that changes its user: Linux forgets a leash then
//! ```
//!
//! The keeper is the first process of a process namespace, so its end is the end of everything below it.

mod keeper;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{IntoRawFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Duration;

use kiln_guest_init::noise::Rounds;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

use crate::launch::stay_on;
use crate::sys;

/// What shells answer for a program that cannot be executed.
const CANNOT_EXECUTE: u8 = 126;

/// The first descriptor after the standard streams.
const FIRST_OPENED: u8 = 3;

/// Becomes a program. The arguments are the process id of who asks, what to do before, `--`, the program, and its own
/// arguments. What to do before is any of:
///
/// - `group=PATH` joins a control group by the file that takes its members;
/// - `core=NUMBER` keeps to a core, and to others that are named as well;
/// - `file=PATH` opens a file for reading, as descriptor 3, 4, and so on;
/// - `keep` puts the program into the hands of a keeper.
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
    let before = arguments.by_ref().take_while(|argument| argument != "--");
    let keeps = match prepare(before) {
        Ok(keeps) => keeps,
        Err(error) => return complain(&format!("cannot prepare a program: {error}")),
    };
    let Some(program) = arguments.next() else {
        return ExitCode::from(2);
    };
    let mut command = Command::new(&program);
    command.args(arguments);
    let error = if keeps {
        match keeper::keep(&mut command) {
            Ok(code) => return code,
            Err(error) => error,
        }
    } else {
        // Only an error comes back.
        command.exec()
    };
    complain(&format!(
        "cannot run {}: {error}",
        Path::new(&program).display()
    ))
}

/// Measures how still a core is, for who reads standard output. The arguments are the milliseconds to take, and where: any of
/// `group=PATH` and `core=NUMBER`.
pub(crate) fn measure_noise(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let span = arguments
        .next()
        .and_then(|millis| millis.to_str()?.parse().ok())
        .map(Duration::from_millis);
    let Some(span) = span else {
        return ExitCode::from(2);
    };
    if let Err(error) = prepare(arguments) {
        return complain(&format!("cannot go where noise is measured: {error}"));
    }
    match io::stdout().write_all(&Rounds::measure(span).to_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Does what is to be done before. Answers whether there shall be a keeper.
fn prepare(before: impl Iterator<Item = OsString>) -> io::Result<bool> {
    let mut keeps = false;
    let mut cores = Vec::new();
    let mut expected = RawFd::from(FIRST_OPENED);
    for argument in before {
        let (what, path) = split(&argument);
        match what {
            b"group" => fs::write(path, "0")?,
            b"core" => cores.push(number(path)?),
            b"file" => {
                // Left open on purpose: it is the program's.
                let opened = openat(CWD, path, OFlags::RDONLY, Mode::empty())?.into_raw_fd();
                if opened != expected {
                    return Err(io::Error::other("a descriptor is not where it should be"));
                }
                expected += 1;
            }
            b"keep" => keeps = true,
            _ => return Err(io::Error::from(io::ErrorKind::InvalidInput)),
        }
    }
    stay_on(&cores).map_err(|_| io::Error::other("these cores are not there"))?;
    Ok(keeps)
}

fn number(text: &Path) -> io::Result<u32> {
    let number = text.to_str().and_then(|text| text.parse().ok());
    number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

fn split(argument: &OsStr) -> (&[u8], &Path) {
    let bytes = argument.as_bytes();
    let at = bytes.iter().position(|byte| *byte == b'=');
    let (what, path) = at.map_or((bytes, &[][..]), |at| (&bytes[..at], &bytes[at + 1..]));
    (what, Path::new(OsStr::from_bytes(path)))
}

fn complain(complaint: &str) -> ExitCode {
    // The exit code says enough if nobody reads.
    let _ = io::stderr().write_all(complaint.as_bytes());
    ExitCode::from(CANNOT_EXECUTE)
}
