//! One end of the guest protocol: a socket that carries whole messages.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use kiln_guest_init::protocol::{FrameBuffer, ToGuest, ToHost};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::Error;

/// A guest that does not even read is broken.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Large enough that a chatty command costs few wake-ups.
const READ_BYTES: usize = 128 << 10;

#[derive(Debug)]
pub(crate) struct Link {
    socket: UnixStream,
    frames: FrameBuffer,
    /// What is to be heard again.
    put_back: VecDeque<ToHost>,
    buffer: Vec<u8>,
}

impl Link {
    pub(crate) fn new(socket: UnixStream) -> Result<Self, Error> {
        socket
            .set_write_timeout(Some(WRITE_PATIENCE))
            .map_err(|error| Error::host("cannot set up a socket", error))?;
        Ok(Self {
            socket,
            frames: FrameBuffer::default(),
            put_back: VecDeque::new(),
            buffer: vec![0; READ_BYTES],
        })
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Says something to the guest. One that is already gone will be noticed when it is heard next.
    pub(crate) fn tell(&mut self, message: &ToGuest) -> Result<(), Error> {
        match self.socket.write_all(&message.to_frame()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::host("cannot write to the chamber", error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Reads what has arrived, waiting for at least one byte. `false` means that the guest has hung up.
    pub(crate) fn read(&mut self) -> Result<bool, Error> {
        match self.socket.read(&mut self.buffer) {
            Ok(0) => Ok(false),
            Ok(count) => {
                self.frames.extend(&self.buffer[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(false),
            Err(error) => Err(Error::host("cannot read from the chamber", error)),
        }
    }

    /// The next whole message of those that were read.
    pub(crate) fn next_message(&mut self) -> Result<Option<ToHost>, Error> {
        if let Some(message) = self.put_back.pop_front() {
            return Ok(Some(message));
        }
        let frame = self.frames.next_frame()?;
        Ok(frame.map(|frame| ToHost::from_frame(&frame)).transpose()?)
    }

    /// Has these messages heard again, before any other.
    pub(crate) fn put_back(&mut self, messages: Vec<ToHost>) {
        self.put_back.extend(messages);
    }

    /// Whether something arrives within this time.
    pub(crate) fn hears_within(&self, patience: Duration) -> Result<bool, Error> {
        let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        loop {
            match poll(&mut fds, patience.as_ref()) {
                Ok(ready) => return Ok(ready > 0),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Error::host("cannot wait for the chamber", errno)),
            }
        }
    }

    /// Tells the guest that it will hear nothing more.
    pub(crate) fn hang_up(&self) {
        // Fails only if the guest is gone already.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}

/// Both ends of a way to a guest.
pub(crate) fn socket_pair() -> Result<(UnixStream, UnixStream), Error> {
    UnixStream::pair().map_err(|error| Error::host("cannot make a socket pair", error))
}

/// A guest that is being talked to, whatever it runs in.
pub(crate) trait Guest {
    fn link(&mut self) -> &mut Link;

    /// Takes note of the process id under which the guest runs on its own machine.
    fn born(&mut self, pid: u32) -> Result<(), Error>;

    /// The process of this host from which all that belongs to the guest came.
    fn process(&self) -> Option<u32>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guest_that_says(messages: &[ToHost]) -> (Link, UnixStream) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        for message in messages {
            theirs.write_all(&message.to_frame()).unwrap();
        }
        (Link::new(ours).unwrap(), theirs)
    }

    #[test]
    fn what_was_put_back_is_heard_before_anything_else() {
        let (mut link, _guest) = guest_that_says(&[ToHost::Held, ToHost::Finished]);
        link.read().unwrap();
        let held = link.next_message().unwrap().unwrap();
        link.put_back(vec![ToHost::Born { pid: 7 }, held]);
        let mut heard = Vec::new();
        while let Some(message) = link.next_message().unwrap() {
            heard.push(message);
        }
        assert_eq!(
            heard,
            [ToHost::Born { pid: 7 }, ToHost::Held, ToHost::Finished]
        );
    }

    #[test]
    fn a_guest_that_says_nothing_is_not_waited_for() {
        let (link, mut guest) = guest_that_says(&[]);
        assert!(!link.hears_within(Duration::ZERO).unwrap());
        guest.write_all(&ToHost::Held.to_frame()).unwrap();
        assert!(link.hears_within(Duration::ZERO).unwrap());
    }
}
