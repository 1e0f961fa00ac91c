//! A machine that is written down with its chamber sealed, so that each run of such a chamber finds it so.

use std::sync::Arc;

use kiln_guest_init::protocol::{Layer, ToHost};

use super::file::HiddenFile;
use super::hypervisor::{Talked, WrittenDown};
use super::monitor::{BOOT_PATIENCE, Monitor};
use super::shelf::Weighed;
use crate::{CancelToken, Error};

#[derive(Debug)]
pub(super) struct Ahead {
    pub(super) written: Arc<WrittenDown>,
    /// The scratch disk, which its guest has mounted and written to.
    pub(super) scratch: HiddenFile,
    pub(super) layers: Vec<Layer>,
}

impl Weighed for Ahead {
    fn bytes(&self) -> u64 {
        self.written.bytes() + self.scratch.allocated_bytes()
    }
}

/// What is known about a chamber's sealed machine.
#[derive(Debug, Default)]
pub(super) enum Sealing {
    /// Nobody has asked for it.
    #[default]
    Untried,
    /// There is none, and runs seal their own.
    Impossible,
    Done(Arc<Ahead>),
}

impl Sealing {
    pub(super) fn ahead(&self) -> Option<&Ahead> {
        match self {
            Self::Done(ahead) => Some(ahead),
            Self::Untried | Self::Impossible => None,
        }
    }
}

/// Waits until a guest that was told how to has sealed its chamber, and gives out what it says about that.
pub(super) fn wait_until_sealed(
    monitor: &mut Monitor,
    cancel: &CancelToken,
    layers: &mut Vec<Layer>,
) -> Result<Talked, Error> {
    loop {
        match monitor.wait_for_message(BOOT_PATIENCE, Some(cancel))? {
            None => return Ok(Talked::Broken),
            Some(ToHost::Born { .. }) => {}
            Some(ToHost::Ready { layers: sealed }) => {
                *layers = sealed;
                return Ok(Talked::Done);
            }
            Some(ToHost::Failed {
                stage,
                errno,
                message,
            }) => return Err(Error::from_guest(stage, errno, message)),
            Some(_) => return Err(Error::OutOfTurn("a message came out of turn")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    use super::*;
    use crate::link::Link;
    use crate::microvm::Process;

    /// A machine without a monitor to speak of, and its guest's end of the link.
    fn machine() -> (Monitor, UnixStream) {
        let (ours, guests) = UnixStream::pair().unwrap();
        let log = HiddenFile::in_memory().unwrap();
        let process = Process::spawn(Command::new("true"), log).unwrap();
        (Monitor::new(process, Link::new(ours).unwrap()), guests)
    }

    fn said(messages: &[ToHost]) -> (Result<Talked, Error>, Vec<Layer>) {
        let (mut monitor, mut guest) = machine();
        for message in messages {
            guest.write_all(&message.to_frame()).unwrap();
        }
        let mut layers = Vec::new();
        let cancel = CancelToken::new().unwrap();
        let talked = wait_until_sealed(&mut monitor, &cancel, &mut layers);
        (talked, layers)
    }

    #[test]
    fn a_sealed_chambers_layers_are_kept() {
        let sealed = vec![Layer::applied("root", "overlay")];
        let (talked, layers) = said(&[
            ToHost::Born { pid: 7 },
            ToHost::Ready {
                layers: sealed.clone(),
            },
        ]);
        assert_eq!(talked.unwrap(), Talked::Done);
        assert_eq!(layers, sealed);
    }

    #[test]
    fn a_guest_that_runs_ahead_is_not_written_down() {
        let (talked, _) = said(&[ToHost::Started { layers: Vec::new() }]);
        assert!(matches!(talked, Err(Error::OutOfTurn(_))), "{talked:?}");
    }

    #[test]
    fn a_cancel_ends_the_wait_for_a_guest_that_says_nothing() {
        let (mut monitor, _guest) = machine();
        let cancel = CancelToken::new().unwrap();
        cancel.cancel();
        let talked = wait_until_sealed(&mut monitor, &cancel, &mut Vec::new());
        assert_eq!(talked.unwrap(), Talked::Broken);
    }
}
