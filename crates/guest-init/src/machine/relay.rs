//! Carrying bytes between the host and the launcher.
//!
//! It sleeps until the kernel has news: a command that says nothing is left alone.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use kiln_guest_init::protocol::Stage;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use super::channel::{Channel, linger};
use crate::fault::{At, Fault};

const BUFFER_BYTES: usize = 64 << 10;

/// Returns when either side has ended.
pub(super) fn relay(host: &mut Channel, chamber: &UnixStream) -> Result<(), Fault> {
    let mut chamber: &UnixStream = chamber;
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let [from_host, from_chamber] = wait_for_news(host, chamber)?;
        if from_host && !carry(host, &mut chamber, &mut buffer)? {
            return Ok(());
        }
        if from_chamber && !carry(&mut chamber, host, &mut buffer)? {
            linger();
            return Ok(());
        }
    }
}

/// Moves what has arrived. `false` means that there will be no more.
fn carry(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> Result<bool, Fault> {
    match from.read(buffer) {
        Ok(0) => Ok(false),
        Ok(count) => match to.write_all(&buffer[..count]) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            result => result
                .map(|()| true)
                .at(Stage::Protocol, || "cannot carry a message".into()),
        },
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
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
