//! The process that launches chambers, and the thread that is their parent.
//!
//! ```text
//! thread ──spawn──▶ launcher ──clone──▶ PID 1, a child of the thread like the launcher itself
//! ```
//!
//! A chamber dies with the thread that is its parent. That thread does nothing but live as long as there may be chambers,
//! so that whoever runs them may do so on any thread.

use std::io;
use std::mem::MaybeUninit;
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use rustix::io::IoSlice;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, send, sendmsg};

use super::guest_process::GuestProcess;
use crate::Error;
use crate::guest::{self, Mode};
use crate::link::Link;

/// Launches chambers. The process is started with the first, and ends with this and the last of them.
#[derive(Debug, Default)]
pub(super) struct Launcher {
    running: Mutex<Option<Arc<Running>>>,
    /// How many there were so far.
    families: AtomicU64,
}

/// Chambers that may have each other's networks, one after the other, as long as no command has used them.
#[derive(Debug)]
pub(super) struct Family {
    launcher: Arc<Launcher>,
    /// Zero for chambers that are strangers to each other.
    number: u64,
}

impl Family {
    /// Has a PID 1 made, which waits for its seal. A mount for its scratch goes with it.
    pub(super) fn launch(&self, scratch: Option<BorrowedFd<'_>>) -> Result<GuestProcess, Error> {
        self.launcher.launch(self.number, scratch)
    }

    /// The same, with a network that nobody had before it and nobody has after it.
    pub(super) fn launch_stranger(
        &self,
        scratch: Option<BorrowedFd<'_>>,
    ) -> Result<GuestProcess, Error> {
        self.launcher.launch(0, scratch)
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let running = self.launcher.running.lock();
        if let Some(running) = &*running.unwrap_or_else(PoisonError::into_inner) {
            // One that is gone has nothing of ours.
            let _ = running.dismiss(self.number);
        }
    }
}

impl Launcher {
    pub(super) fn family(self: Arc<Self>) -> Family {
        let number = self.families.fetch_add(1, Ordering::Relaxed) + 1;
        Family {
            launcher: self,
            number,
        }
    }

    pub(super) fn strangers(self: Arc<Self>) -> Family {
        Family {
            launcher: self,
            number: 0,
        }
    }

    fn launch(&self, family: u64, scratch: Option<BorrowedFd<'_>>) -> Result<GuestProcess, Error> {
        let (socket, guests) =
            UnixStream::pair().map_err(|error| Error::host("cannot make a socket pair", error))?;
        let link = Link::new(socket)?;
        let descriptors: Vec<_> = [Some(guests.as_fd()), scratch]
            .into_iter()
            .flatten()
            .collect();
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let launcher = match &*running {
            Some(launcher) if launcher.order(&descriptors, family).is_ok() => Arc::clone(launcher),
            // There is none, or somebody has ended it.
            Some(_) | None => {
                let launcher = Arc::new(Running::start()?);
                launcher
                    .order(&descriptors, family)
                    .map_err(|errno| Error::host("cannot reach the launcher", errno))?;
                Arc::clone(running.insert(launcher))
            }
        };
        Ok(GuestProcess::launched(link, launcher))
    }
}

#[derive(Debug)]
pub(super) struct Running {
    orders: UnixStream,
    /// Lets the thread end; both are there until the drop.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Running {
    fn start() -> Result<Self, Error> {
        let failed = |error: io::Error| Error::host("cannot start the launcher", error);
        let (orders, theirs) = UnixStream::pair().map_err(failed)?;
        let (started, starting) = channel();
        let (release, released) = channel::<()>();
        let thread = Builder::new()
            .name("kiln-launcher".to_owned())
            .spawn(move || {
                let process = guest::spawn(theirs.into(), Mode::Serve);
                let (process, outcome) = match process {
                    Ok(process) => (Some(process), Ok(())),
                    Err(error) => (None, Err(error)),
                };
                // Who waits for this holds the other ends, and an error means that nobody does any more.
                let _ = started.send(outcome);
                let _ = released.recv();
                if let Some(mut process) = process {
                    let _ = process.wait();
                }
            })
            .map_err(failed)?;
        let launcher = Self {
            orders,
            thread: Some((release, thread)),
        };
        match starting.recv() {
            Ok(outcome) => outcome.map(|()| launcher),
            Err(_) => Err(failed(io::Error::other("its thread has panicked"))),
        }
    }

    /// Passes on the socket of a chamber, and its scratch.
    fn order(&self, descriptors: &[BorrowedFd<'_>], family: u64) -> rustix::io::Result<()> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let pushed = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        assert!(pushed, "the buffer has room for two descriptors");
        let order = family.to_le_bytes();
        let order = [IoSlice::new(&order)];
        sendmsg(&self.orders, &order, &mut ancillary, SendFlags::NOSIGNAL).map(drop)
    }

    /// Says that no more chambers of this family will come.
    fn dismiss(&self, family: u64) -> rustix::io::Result<()> {
        send(&self.orders, &family.to_le_bytes(), SendFlags::NOSIGNAL).map(drop)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // The launcher ends when its orders do. It may have ended already.
        let _ = self.orders.shutdown(Shutdown::Both);
        if let Some((release, thread)) = self.thread.take() {
            drop(release);
            // A thread that has panicked has told so.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_is_gone_is_replaced() {
        let launcher = Launcher::default();
        let first = launcher.launch(0, None).unwrap();
        let running = launcher.running.lock().unwrap().clone().unwrap();
        running.orders.shutdown(Shutdown::Both).unwrap();
        let second = launcher.launch(0, None).unwrap();
        let replacement = launcher.running.lock().unwrap().clone().unwrap();
        assert!(!Arc::ptr_eq(&running, &replacement));
        // Their ends are waited for here.
        drop((first, second));
    }
}
