//! The guest: what PID 1 of a machine does before the chamber, and then the real `kiln-guest-init` that was in the
//! machine's initial file system.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use kiln_guest_init::protocol::{Machine, ToGuest, ToHost, read_frame};

use super::machine::Parts;
use super::trouble::Trouble;
use super::{complain, end};

/// The program of the initial file system, in the monitor's directory.
const PROGRAM: &str = "guest-init";

/// Puts a root with the machine's disks together, as the machine's PID 1 would, and becomes the program in it.
const BOOT: &str = r#"
set -e
mkdir machine
mount -t tmpfs machine machine
cp guest-init machine/init
mount -o loop,ro "$1" "$(mkdir -p machine/base && echo machine/base)"
mount -o loop "$2" "$(mkdir -p machine/scratch && echo machine/scratch)"
cd machine
mkdir proc dev tmp old
mount -t proc proc proc
mount --rbind /dev dev
pivot_root . old
exec ./init
"#;

/// Serves one connection of the host. One that hangs up before it has orders leaves the guest waiting for the next.
pub(super) fn live(host: &UnixStream, parts: &Parts) {
    match serve(host, parts) {
        Ok(true) => end(0),
        Ok(false) => {}
        Err(error) => {
            complain(&format!("the guest broke: {error}"));
            // As when a guest's kernel panics: the monitor's end says nothing about it.
            end(0);
        }
    }
}

/// Whether it had orders.
fn serve(host: &UnixStream, parts: &Parts) -> io::Result<bool> {
    let mut stream = host;
    let up = ToHost::Up {
        kernel: "a double".to_owned(),
    };
    if stream.write_all(&up.to_frame()).is_err() {
        return Ok(false);
    }
    let Ok(frame) = read_frame(&mut stream) else {
        return Ok(false);
    };
    match ToGuest::from_frame(&frame) {
        Ok(ToGuest::Machine(machine)) => check(&machine)?,
        _ => return Err(io::Error::other("the first message is not for a machine")),
    }
    if Trouble::of_this_program() == Trouble::Crash {
        return Ok(true);
    }
    if parts
        .requests
        .keys()
        .any(|path| path.starts_with("/network-interfaces/"))
    {
        // The only device that this guest could take over is its host's.
        return Err(io::Error::other("a double has no network"));
    }
    write_program(&parts.program)?;
    let (ours, theirs) = UnixStream::pair()?;
    let disk = |path| parts.text(path, "path_on_host").unwrap_or_default();
    let mut launcher = Command::new("setpriv")
        // A jailed monitor has another user, but the hardware it plays has none.
        .args(["--reuid=0", "--regid=0", "--clear-groups"])
        .args(["unshare", "--mount", "--propagation", "private"])
        .args(["sh", "-c", BOOT, "sh"])
        .args([disk("/drives/base"), disk("/drives/scratch")])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()?;
    let from_host = host.try_clone()?;
    let to_guest = ours.try_clone()?;
    thread::spawn(move || {
        carry(&from_host, &to_guest);
        // The guest hears that nothing more will come.
        let _ = to_guest.shutdown(std::net::Shutdown::Write);
    });
    carry(&ours, host);
    launcher.wait()?;
    Ok(true)
}

fn check(machine: &Machine) -> io::Result<()> {
    if machine.memory_bytes == 0 || machine.processes == 0 || machine.wake.entropy.is_empty() {
        return Err(io::Error::other("the machine is not told what it needs"));
    }
    Ok(())
}

fn carry(mut from: &UnixStream, mut to: &UnixStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..count]).is_err() {
            return;
        }
    }
}

/// Takes `init` out of an initial file system (`newc`).
pub(super) fn program_in(initramfs: &str) -> io::Result<Vec<u8>> {
    const HEADER_BYTES: usize = 110;
    let broken = || io::Error::other("the initial file system is none");
    let archive = fs::read(initramfs)?;
    let mut rest = &archive[..];
    loop {
        let field = |index: usize| {
            let digits = rest.get(6 + 8 * index..14 + 8 * index)?;
            usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let size = field(6).ok_or_else(broken)?;
        let name_bytes = field(11).ok_or_else(broken)?;
        let content = (HEADER_BYTES + name_bytes).next_multiple_of(4);
        let name = rest
            .get(HEADER_BYTES..HEADER_BYTES + name_bytes - 1)
            .ok_or_else(broken)?;
        if name == b"init" {
            let program = rest.get(content..content + size).ok_or_else(broken)?;
            return Ok(program.to_vec());
        }
        if name == b"TRAILER!!!" {
            return Err(broken());
        }
        rest = rest
            .get((content + size).next_multiple_of(4)..)
            .ok_or_else(broken)?;
    }
}

fn write_program(bytes: &[u8]) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(PROGRAM, bytes)?;
    fs::set_permissions(Path::new(PROGRAM), fs::Permissions::from_mode(0o755))
}
