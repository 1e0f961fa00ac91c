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

/// How a program of the host is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct Leash {
    /// Open for reading when the program starts, as descriptors 3, 4, and so on. It has no others but its standard
    /// streams.
    pub(crate) files: Vec<String>,
    /// The files by which it joins its control groups.
    pub(crate) groups: Vec<String>,
    /// The cores it keeps to; any if empty.
    pub(crate) cores: Vec<u32>,
    /// Whether it gives up its user on the way, and with it what Linux remembers of a leash.
    pub(crate) changes_user: bool,
}

impl Leash {
    /// A command that becomes the program and dies with the calling thread.
    pub(crate) fn command(&self, program: &Path) -> Result<Command, Error> {
        let mut leashed = command("leash")?;
        leashed.arg(std::process::id().to_string());
        leashed.args(self.groups.iter().map(|group| format!("group={group}")));
        leashed.args(self.cores.iter().map(|core| format!("core={core}")));
        leashed.args(self.files.iter().map(|file| format!("file={file}")));
        leashed.args(self.changes_user.then_some("keep"));
        leashed.arg("--").arg(program).current_dir("/");
        Ok(leashed)
    }
}

/// What the guest program does for who holds the other end of its standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Launches chambers.
    Serve,
    /// Runs one command without walls around it.
    Bare,
}

/// Starts the guest program with one end of a socket pair as its standard input.
pub(crate) fn spawn(socket: OwnedFd, mode: Mode) -> Result<Child, Error> {
    let mode = match mode {
        Mode::Serve => "serve",
        Mode::Bare => "bare",
    };
    command(mode)?
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
