//! Carrying bytes between the host and the launcher.
//!
//! It sleeps until the kernel has news: a command that says nothing is left alone. Until the command starts it looks at what
//! the host says, because some of it is for the machine.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::{Stage, ToGuest, read_frame};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::channel::{Channel, linger};
use super::wake;
use crate::fault::{At, Fault};

const BUFFER_BYTES: usize = 64 << 10;

/// Returns when either side has ended.
pub(super) fn relay(host: &mut Channel, chamber: &UnixStream, random: &File) -> Result<(), Fault> {
    let mut chamber: &UnixStream = chamber;
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut started = false;
    loop {
        let [from_host, from_chamber] = wait_for_news(host, chamber)?;
        if from_host {
            let goes_on = if started {
                carry(host, &mut chamber, &mut buffer)?
            } else {
                let heard = heed(host, &mut chamber, random)?;
                started = heard == Heard::LastWord;
                heard != Heard::HungUp
            };
            if !goes_on {
                return Ok(());
            }
        }
        if from_chamber && !carry(&mut chamber, host, &mut buffer)? {
            linger();
            return Ok(());
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heard {
    /// Something after which more may come for the machine.
    Word,
    /// Something after which everything is for the chamber.
    LastWord,
    HungUp,
}

/// Does what one message asks of the machine, or carries it on.
fn heed(host: &mut impl Read, chamber: &mut impl Write, random: &File) -> Result<Heard, Fault> {
    let frame = match read_frame(host) {
        Ok(frame) => frame,
        Err(error) if super::is_hang_up(&error) => return Ok(Heard::HungUp),
        Err(error) => return Err(error).at(Stage::Protocol, || "cannot read a message".into()),
    };
    let message = ToGuest::from_frame(&frame)
        .map_err(|malformed| Fault::new(Stage::Protocol, malformed.to_string()))?;
    if let ToGuest::Wake(orders) = &message {
        wake::wake(orders, random)?;
        return Ok(Heard::Word);
    }
    match chamber.write_all(&message.to_frame()) {
        // What is left in the socket says why.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result.at(Stage::Protocol, || "cannot carry a message".into())?,
    }
    Ok(match message {
        ToGuest::Start(_) => Heard::LastWord,
        ToGuest::Seal(_)
        | ToGuest::Build
        | ToGuest::Kill(_)
        | ToGuest::Machine(_)
        | ToGuest::Wake(_) => Heard::Word,
    })
}

/// Moves what has arrived. `false` means that there will be no more.
fn carry(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> Result<bool, Fault> {
    match from.read(buffer) {
        Ok(0) => Ok(false),
        Ok(count) => match to.write_all(&buffer[..count]) {
            Err(error) if super::is_hang_up(&error) => Ok(false),
            result => result
                .map(|()| true)
                .at(Stage::Protocol, || "cannot carry a message".into()),
        },
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) if super::is_hang_up(&error) => Ok(false),
        Err(error) => Err(error).at(Stage::Protocol, || "cannot read a message".into()),
    }
}

fn wait_for_news(host: &impl AsFd, chamber: &impl AsFd) -> Result<[bool; 2], Fault> {
    let mut fds = [
        PollFd::new(host, PollFlags::IN),
        PollFd::new(chamber, PollFlags::IN),
    ];
    loop {
        match poll(&mut fds, None) {
            Ok(_) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).at(Stage::Supervise, || "cannot wait for news".into()),
        }
    }
    Ok(fds.each_ref().map(|fd| !fd.revents().is_empty()))
}
