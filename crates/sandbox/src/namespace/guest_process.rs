//! The guest's processes as the host sees them. Dropping this ends everything in the chamber.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::time::Duration;

use kiln_guest_init::protocol::{FrameBuffer, ToGuest, ToHost};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use crate::{Error, guest};

/// A guest that does not even read is broken.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Large enough that a chatty command costs few wake-ups.
const READ_BYTES: usize = 128 << 10;

#[derive(Debug)]
pub(super) struct GuestProcess {
    socket: UnixStream,
    frames: FrameBuffer,
    buffer: Vec<u8>,
    launcher: Child,
    pid1: Option<OwnedFd>,
}

impl GuestProcess {
    /// Starts the launcher, which waits for its first message.
    pub(super) fn spawn() -> Result<Self, Error> {
        let (socket, guests) =
            UnixStream::pair().map_err(|error| Error::host("cannot make a socket pair", error))?;
        socket
            .set_write_timeout(Some(WRITE_PATIENCE))
            .map_err(|error| Error::host("cannot set up a socket", error))?;
        let launcher = guest::spawn(guests.into())?;
        Ok(Self {
            socket,
            frames: FrameBuffer::default(),
            buffer: vec![0; READ_BYTES],
            launcher,
            pid1: None,
        })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Says something to the guest. One that is already gone will be noticed when it is heard next.
    pub(super) fn tell(&mut self, message: &ToGuest) -> Result<(), Error> {
        match self.socket.write_all(&message.to_frame()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(Error::host("cannot write to the chamber", error))
            }
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Reads what has arrived, waiting for at least one byte. `false` means that the guest has hung up.
    pub(super) fn read(&mut self) -> Result<bool, Error> {
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
    pub(super) fn next_message(&mut self) -> Result<Option<ToHost>, Error> {
        let frame = self.frames.next_frame()?;
        Ok(frame.map(|frame| ToHost::from_frame(&frame)).transpose()?)
    }

    /// Takes hold of PID 1. It is our child, so its id cannot belong to anyone else until we wait for it.
    pub(super) fn adopt(&mut self, pid: u32) -> Result<(), Error> {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(Error::OutOfTurn("no such process id"))?;
        let pid1 = pidfd_open(pid, PidfdFlags::empty())
            .map_err(|errno| Error::host("cannot watch the chamber", errno))?;
        self.pid1 = Some(pid1);
        Ok(())
    }

    /// Ends every process of the chamber and waits until they are gone.
    ///
    /// The launcher is never killed: it ends by itself, at the latest when its socket closes, and only it knows whether
    /// there is a PID 1 to look for.
    fn end(&mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::host("cannot end the chamber", error);
        // Fails only if the guest is gone already.
        let _ = self.socket.shutdown(Shutdown::Write);
        self.launcher.wait().map_err(failed)?;
        if self.pid1.is_none() {
            self.find_pid1()?;
        }
        let Some(pid1) = self.pid1.take() else {
            return Ok(());
        };
        // Its death takes the whole process namespace with it; one that is dead already is fine.
        let _ = pidfd_send_signal(&pid1, Signal::KILL);
        loop {
            match waitid(WaitId::PidFd(pid1.as_fd()), WaitIdOptions::EXITED) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(failed(errno.into())),
            }
        }
    }

    /// Looks for the launcher's word about PID 1 in what was never read.
    fn find_pid1(&mut self) -> Result<(), Error> {
        loop {
            while let Some(message) = self.next_message()? {
                if let ToHost::Born { pid } = message {
                    return self.adopt(pid);
                }
            }
            if !self.read()? {
                return Ok(());
            }
        }
    }
}

impl Drop for GuestProcess {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a chamber could not be ended"
            );
        }
    }
}
