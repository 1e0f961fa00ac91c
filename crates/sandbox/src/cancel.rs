//! Stopping a run from another thread.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::Error;

/// Cancels a run. Clones share one state; it cannot be taken back.
#[derive(Clone, Debug)]
pub struct CancelToken(Arc<OwnedFd>);

impl CancelToken {
    pub fn new() -> Result<Self, Error> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| Error::host("cannot make an event descriptor", errno))?;
        Ok(Self(Arc::new(event)))
    }

    /// Asks the run to stop. Canceling twice is the same as once.
    pub fn cancel(&self) {
        // The counter can only be full after 2^64 cancels, and then it still reads as canceled.
        let _ = rustix::io::write(&*self.0, &1_u64.to_ne_bytes());
    }

    pub fn is_canceled(&self) -> bool {
        let mut fds = [PollFd::new(&*self.0, PollFlags::IN)];
        poll(
            &mut fds,
            Some(&Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            }),
        )
        .is_ok_and(|ready| ready > 0)
    }
}

/// Readable from the moment of the cancel on.
impl AsFd for CancelToken {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancel_is_seen_by_every_clone_and_stays() {
        let token = CancelToken::new().unwrap();
        let clone = token.clone();
        assert!(!clone.is_canceled());
        token.cancel();
        assert!(clone.is_canceled());
        assert!(clone.is_canceled());
    }
}
