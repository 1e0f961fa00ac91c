//! The process that is a machine to its host, and the way to the guest inside.

use std::fmt;
use std::os::unix::fs::FileExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use kiln_guest_init::protocol::ToHost;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::file::HiddenFile;
use crate::link::{Guest, Link};
use crate::{CancelToken, Error};

/// An emulated machine takes seconds; one that needs this long never comes up.
pub(crate) const BOOT_PATIENCE: Duration = Duration::from_mins(3);

/// The first in which a chamber may change its own mounts, and stack file systems.
const OLDEST_KERNEL: (u32, u32) = (5, 12);

/// What is kept of a monitor's complaints.
const LOG_BYTES: usize = 2048;

/// A monitor's process. Dropping this ends it.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    log: HiddenFile,
}

impl Process {
    /// Starts a monitor that complains to `log`.
    pub(crate) fn spawn(mut command: Command, log: HiddenFile) -> Result<Self, Error> {
        let failed = |error| Error::host("cannot start the machine's monitor", error);
        let child = command
            .stderr(Stdio::from(log.file().try_clone().map_err(failed)?))
            .spawn()
            .map_err(failed)?;
        Ok(Self { child, log })
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// What its end means, with its own words.
    pub(crate) fn explain_end(&self, what: &str) -> Error {
        Error::Machine {
            reason: format!("{what} {}", self.complaint()).trim_end().to_owned(),
        }
    }

    fn complaint(&self) -> String {
        let mut text = vec![0; LOG_BYTES];
        let read = self.log.file().read_at(&mut text, 0).unwrap_or(0);
        String::from_utf8_lossy(&text[..read]).trim().to_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended by itself is fine. Its status is of no interest: only the guest's word counts.
        let _ = self.child.kill();
        if let Err(error) = self.child.wait() {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a machine could not be ended"
            );
        }
    }
}

/// A running machine and the way to its guest.
#[derive(Debug)]
pub(crate) struct Monitor {
    process: Process,
    link: Link,
    /// Goes after the process.
    kept: Vec<Box<dyn Kept>>,
}

/// Something that must be there as long as a machine runs.
pub(crate) trait Kept: Send + fmt::Debug {}

impl<T: Send + fmt::Debug> Kept for T {}

impl Monitor {
    pub(crate) fn new(process: Process, link: Link) -> Self {
        Self {
            process,
            link,
            kept: Vec::new(),
        }
    }

    /// The same machine, with something that lasts as long as it.
    pub(crate) fn keeping(mut self, kept: Box<dyn Kept>) -> Self {
        self.kept.push(kept);
        self
    }

    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.process.ended()
    }

    /// The same error, or the monitor's own words where it ended without the guest's.
    pub(crate) fn explain(&self, error: Error) -> Error {
        if matches!(error, Error::Lost) && self.has_complained() {
            return self.process.explain_end("its monitor ended:");
        }
        error
    }

    pub(crate) fn has_complained(&self) -> bool {
        !self.complaint().is_empty()
    }

    /// What it said about itself so far.
    pub(crate) fn complaint(&self) -> String {
        self.process.complaint()
    }

    /// Hangs up on the guest, and leaves it running.
    pub(crate) fn hang_up(self) -> Process {
        self.process
    }

    /// Waits for a booted guest's first word, or until it is canceled.
    pub(crate) fn wait_until_up(
        &mut self,
        patience: Duration,
        cancel: Option<&CancelToken>,
    ) -> Result<(), Error> {
        match self.wait_for_message(patience, cancel)? {
            Some(message) => first_word(message).map(drop),
            None => Ok(()),
        }
    }

    /// Waits for the guest's next message. `None` means that it was canceled meanwhile.
    pub(super) fn wait_for_message(
        &mut self,
        patience: Duration,
        cancel: Option<&CancelToken>,
    ) -> Result<Option<ToHost>, Error> {
        let patience = Timespec::try_from(patience).ok();
        loop {
            if let Some(message) = self.link.next_message()? {
                return Ok(Some(message));
            }
            let mut fds = vec![PollFd::from_borrowed_fd(self.link.socket(), PollFlags::IN)];
            fds.extend(cancel.map(|cancel| PollFd::new(cancel, PollFlags::IN)));
            if poll(&mut fds, patience.as_ref()).is_ok_and(|ready| ready == 0) {
                return Err(Error::NotReady);
            }
            if cancel.is_some_and(CancelToken::is_canceled) {
                return Ok(None);
            }
            if !fds[0].revents().is_empty() && !self.link.read()? {
                return Err(Error::Lost);
            }
        }
    }
}

/// What a guest's first message says: the release of its kernel, or why it could not come up.
pub(super) fn first_word(message: ToHost) -> Result<String, Error> {
    if let ToHost::Up { kernel } = message {
        if is_too_old(&kernel) {
            let (major, minor) = OLDEST_KERNEL;
            return Err(Error::Machine {
                reason: format!(
                    "the guest kernel is {kernel}, and a chamber needs {major}.{minor} or newer"
                ),
            });
        }
        return Ok(kernel);
    }
    if let ToHost::Failed {
        stage,
        errno,
        message,
    } = message
    {
        return Err(Error::from_guest(stage, errno, message));
    }
    Err(Error::OutOfTurn("a machine's first word is that it is up"))
}

/// One that does not tell its version in numbers is taken to be new.
fn is_too_old(release: &str) -> bool {
    let mut numbers = release.split('.').map(str::parse::<u32>);
    let (Some(Ok(major)), Some(Ok(minor))) = (numbers.next(), numbers.next()) else {
        return false;
    };
    (major, minor) < OLDEST_KERNEL
}

impl Guest for Monitor {
    fn link(&mut self) -> &mut Link {
        &mut self.link
    }

    fn born(&mut self, _: u32) -> Result<(), Error> {
        // The id is one inside the machine and means nothing here.
        Ok(())
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.child.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_is_too_old_is_told_by_its_release() {
        let word = |kernel: &str| {
            let kernel = kernel.to_owned();
            first_word(ToHost::Up { kernel })
        };
        for new in ["5.12.0", "6.1.0-54-cloud-amd64", "10.0", "something else"] {
            assert_eq!(word(new).unwrap(), new);
        }
        for old in ["5.10.225", "4.14.336"] {
            let error = word(old).unwrap_err().to_string();
            assert!(error.contains(old) && error.contains("5.12"), "{error}");
        }
    }
}
