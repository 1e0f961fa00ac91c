//! PID 1 of a microVM.
//!
//! ```text
//! kernel ──▶ PID 1 ──exec──▶ launcher    builds the same chamber as on a host, over the machine's disks
//!            PID 1 ──Up──▶ host          booted; a template is taken here. A host that hangs up now may come back
//!            PID 1 ◀─Machine── host      clock, random numbers, bounds; disks are mounted only now
//!            PID 1 carries bytes between host and launcher until one of them ends, and ends the machine
//! ```
//!
//! What every machine of a kind does alike is done before the template is taken: code that has not run since a restore
//! is slow where it is emulated.
//!
//! The chamber inside is no weaker than one on a host: what breaks out of it is still in the machine.

mod boot;
mod bounds;
mod channel;
mod disks;
mod modules;
mod relay;
mod wake;

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};

use kiln_guest_init::protocol::{Frame, Machine, Stage, ToGuest, ToHost, read_frame};
use rustix::system::{RebootCommand, reboot};

use crate::fault::{At, Fault};
pub(crate) use bounds::MEMORY_PEAK;
use channel::Channel;

/// Runs one command for the host and ends the machine.
pub(crate) fn run() -> ! {
    if let Err(fault) = live() {
        // The console, if there is one, is all that is left to tell.
        let _ = fs::write("/dev/kmsg", format!("kiln: {:?}\n", fault.to_message()));
    }
    // No disk is worth a sync: one is read-only and the other ends with us.
    let _ = reboot(RebootCommand::Restart);
    loop {
        rustix::thread::sched_yield();
    }
}

fn live() -> Result<(), Fault> {
    boot::mount_kernel_file_systems()?;
    modules::load_all()?;
    let mut channel = Channel::open()?;
    let served = serve(&mut channel);
    if let Err(fault) = &served {
        // Without a host there is nobody left to tell.
        let _ = channel.write_all(&fault.to_message().to_frame());
        channel::linger();
    }
    served
}

fn serve(channel: &mut Channel) -> Result<(), Fault> {
    boot::move_root()?;
    let (ours, theirs) =
        UnixStream::pair().at(Stage::Boot, || "cannot make a socket pair".into())?;
    bounds::confine(start_launcher(theirs.into())?)?;
    let random = wake::open_random()?;
    let Some(machine) = wait_for_orders(channel)? else {
        return Ok(());
    };
    wake::wake(&machine.wake, &random)?;
    disks::mount_all()?;
    // The launcher waits for its first message, which has not been carried to it yet.
    bounds::apply(&machine)?;
    relay::relay(channel, &ours, &random)
}

/// Says that the machine is up, to each host that comes, until one of them has orders. `None` means that no other will
/// come.
fn wait_for_orders(channel: &mut Channel) -> Result<Option<Machine>, Fault> {
    let up = ToHost::Up {
        kernel: rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned(),
    };
    loop {
        let asked = channel
            .write_all(&up.to_frame())
            .and_then(|()| read_frame(channel));
        match asked {
            Ok(frame) => return orders(&frame).map(Some),
            Err(error) if is_hang_up(&error) => {}
            Err(error) => {
                return Err(error).at(Stage::Protocol, || "cannot read the first message".into());
            }
        }
        if !channel.wait_again()? {
            return Ok(None);
        }
    }
}

fn is_hang_up(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe
            // A connection over vsock that a restore has cut off: its reset was read, or nobody has asked for it.
            | io::ErrorKind::NotConnected
    )
}

fn orders(frame: &Frame) -> Result<Machine, Fault> {
    match ToGuest::from_frame(frame) {
        Ok(ToGuest::Machine(machine)) => Ok(machine),
        Ok(
            ToGuest::Seal(_)
            | ToGuest::Build
            | ToGuest::Start(_)
            | ToGuest::Kill(_)
            | ToGuest::Wake(_),
        ) => Err(Fault::new(
            Stage::Protocol,
            "the first message is not for a machine",
        )),
        Err(malformed) => Err(Fault::new(Stage::Protocol, malformed.to_string())),
    }
}

/// Starts this same program as it is started on a host.
fn start_launcher(socket: OwnedFd) -> Result<u32, Fault> {
    let child = Command::new("/proc/self/exe")
        .env_clear()
        .stdin(Stdio::from(socket))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .at(Stage::Boot, || "cannot start the launcher".into())?;
    Ok(child.id())
}
