//! The embedded PID 1, as a program in memory: no file on the host to find, replace or forget.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
use rustix::io::Errno;

use crate::Error;

const PROGRAM: &[u8] = include_bytes!(env!("KILN_GUEST_INIT"));

/// The program itself, for the initial file system of a machine.
pub(crate) const fn bytes() -> &'static [u8] {
    PROGRAM
}

/// The guest program in one of its modes, with nothing of this process's environment.
pub(crate) fn command(mode: &str) -> Result<Command, Error> {
    let mut command = Command::new(format!("/proc/self/fd/{}", program()?.as_raw_fd()));
    command.arg(mode).env_clear();
    Ok(command)
}

/// A command that becomes a program of the host and dies with the calling thread. The program finds the files open for
/// reading as descriptors 3, 4, and so on, and no others but its standard streams.
pub(crate) fn on_a_leash(program: &Path, files: &[String]) -> Result<Command, Error> {
    let mut leashed = command("leash")?;
    leashed
        .arg(std::process::id().to_string())
        .args(files)
        .arg("--")
        .arg(program)
        .current_dir("/");
    Ok(leashed)
}

/// Starts the guest program with one end of a socket pair as its standard input.
pub(crate) fn spawn(socket: OwnedFd) -> Result<Child, Error> {
    let program = program()?;
    Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()))
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| Error::host("cannot start the guest program", error))
}

/// One copy per process, sealed so that nobody can change what chambers start with.
fn program() -> Result<&'static OwnedFd, Error> {
    static COPY: OnceLock<OwnedFd> = OnceLock::new();
    if let Some(copy) = COPY.get() {
        return Ok(copy);
    }
    let copy = make_copy()
        .map_err(|error| Error::host("cannot put the guest program into memory", error))?;
    Ok(COPY.get_or_init(|| copy))
}

fn make_copy() -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Hosts may make memory files non-executable unless told otherwise; kernels before 6.3 do not know the flag.
    let copy = match memfd_create("kiln-guest-init", flags | MemfdFlags::EXEC) {
        Err(Errno::INVAL) => memfd_create("kiln-guest-init", flags)?,
        result => result?,
    };
    let mut rest = PROGRAM;
    while !rest.is_empty() {
        let written = rustix::io::write(&copy, rest)?;
        rest = &rest[written..];
    }
    fcntl_add_seals(
        &copy,
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE,
    )?;
    Ok(copy)
}
