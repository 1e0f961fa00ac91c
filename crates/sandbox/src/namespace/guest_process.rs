//! The guest's processes as the host sees them. Dropping this ends everything in the chamber.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;

use kiln_guest_init::protocol::ToHost;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};

use super::launcher::Running;
use crate::Error;
use crate::guest::{self, Mode};
use crate::link::{Guest, Link};

#[derive(Debug)]
pub(crate) struct GuestProcess {
    link: Link,
    /// The whole guest, where it has no walls.
    bare: Option<Child>,
    pid1: Option<(u32, OwnedFd)>,
    /// With whose thread PID 1 would die.
    _launcher: Option<Arc<Running>>,
}

impl GuestProcess {
    /// A chamber at the other end of this link, which waits for its seal.
    pub(super) fn launched(link: Link, launcher: Arc<Running>) -> Self {
        Self {
            link,
            bare: None,
            pid1: None,
            _launcher: Some(launcher),
        }
    }

    /// Starts a guest without walls, which waits for its first message.
    pub(crate) fn bare() -> Result<Self, Error> {
        let (socket, guests) =
            UnixStream::pair().map_err(|error| Error::host("cannot make a socket pair", error))?;
        let link = Link::new(socket)?;
        let process = guest::spawn(guests.into(), Mode::Bare)?;
        Ok(Self {
            link,
            bare: Some(process),
            pid1: None,
            _launcher: None,
        })
    }

    /// Takes hold of PID 1. It is our child, so its id cannot belong to anyone else until we wait for it.
    fn adopt(&mut self, pid: u32) -> Result<(), Error> {
        let id = i32::try_from(pid)
            .ok()
            .and_then(Pid::from_raw)
            .ok_or(Error::OutOfTurn("no such process id"))?;
        let pid1 = pidfd_open(id, PidfdFlags::empty())
            .map_err(|errno| Error::host("cannot watch the chamber", errno))?;
        self.pid1 = Some((pid, pid1));
        Ok(())
    }

    /// Ends every process of the chamber and waits until they are gone.
    fn end(&mut self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::host("cannot end the chamber", error);
        self.link.hang_up();
        if let Some(bare) = &mut self.bare {
            // It ends by itself, at the latest when its socket closes, and takes what it has started with it.
            return bare.wait().map(drop).map_err(failed);
        }
        if self.pid1.is_none() {
            self.find_pid1()?;
        }
        let Some((_, pid1)) = self.pid1.take() else {
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

    /// Waits for the launcher's word about PID 1, which is all that tells whether there is one.
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

    fn process(&self) -> Option<u32> {
        let pid1 = self.pid1.as_ref().map(|(pid, _)| *pid);
        pid1.or_else(|| self.bare.as_ref().map(Child::id))
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
