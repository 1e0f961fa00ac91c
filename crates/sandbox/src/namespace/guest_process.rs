//! The guest's processes as the host sees them. Dropping this ends everything in the chamber.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;

use kiln_guest_init::protocol::ToHost;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use crate::guest::Walls;
use crate::link::{Guest, Link};
use crate::{Error, guest};

#[derive(Debug)]
pub(super) struct GuestProcess {
    link: Link,
    launcher: Child,
    pid1: Option<OwnedFd>,
}

impl GuestProcess {
    /// Starts the launcher, which waits for its first message.
    pub(super) fn spawn(walls: Walls) -> Result<Self, Error> {
        let (socket, guests) =
            UnixStream::pair().map_err(|error| Error::host("cannot make a socket pair", error))?;
        let link = Link::new(socket)?;
        let launcher = guest::spawn(guests.into(), walls)?;
        Ok(Self {
            link,
            launcher,
            pid1: None,
        })
    }

    /// Takes hold of PID 1. It is our child, so its id cannot belong to anyone else until we wait for it.
    fn adopt(&mut self, pid: u32) -> Result<(), Error> {
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
        self.link.hang_up();
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
            while let Some(message) = self.link.next_message()? {
                if let ToHost::Born { pid } = message {
                    return self.adopt(pid);
                }
            }
            if !self.link.read()? {
                return Ok(());
            }
        }
    }
}

impl Guest for GuestProcess {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn born(&mut self, pid: u32) -> Result<(), Error> {
        self.adopt(pid)
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
