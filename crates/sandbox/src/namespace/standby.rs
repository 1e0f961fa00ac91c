//! A chamber that is sealed, or about to be, and waits for its command.

use std::time::Duration;

use kiln_guest_init::protocol::{IdMap, ToGuest, ToHost};
use rustix::process::Pid;

use super::disk::Plot;
use super::elsewhere::Elsewhere;
use super::guest_process::GuestProcess;
use crate::cgroup::Group;
use crate::link::Guest as _;
use crate::{Command, Error};

/// A hundred times what a birth takes.
const PATIENCE: Duration = Duration::from_millis(50);

/// Dropping it ends the guest, and then removes its group and what it has written.
#[derive(Debug)]
pub(crate) struct Standby {
    pub(crate) guest: GuestProcess,
    pub(crate) group: Group,
    pub(crate) plot: Option<Plot>,
    ids: IdMap,
    /// Of one that is known to be held.
    pid: Option<Pid>,
}

impl Standby {
    pub(crate) fn new(guest: GuestProcess, group: Group, plot: Option<Plot>, ids: IdMap) -> Self {
        Self {
            guest,
            group,
            plot,
            ids,
            pid: None,
        }
    }

    /// Waits until one that is to be held has come so far, though not for long: on a host that is that slow nobody measures.
    pub(super) fn settle(&mut self) -> Result<(), Error> {
        let link = self.guest.link();
        let mut before = Vec::new();
        loop {
            match link.next_message()? {
                Some(ToHost::Held) => break,
                Some(other) => {
                    if let ToHost::Born { pid } = other {
                        self.pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
                    }
                    before.push(other);
                }
                None if !link.hears_within(PATIENCE)? => break,
                None if link.read()? => {}
                None => return Err(Error::Lost),
            }
        }
        link.put_back(before);
        Ok(())
    }

    /// Lets one that is held go on.
    pub(super) fn build(mut self) -> Result<Self, Error> {
        let elsewhere = self.pid.and_then(Elsewhere::for_process);
        self.guest.link().tell(&ToGuest::Build)?;
        drop(elsewhere);
        Ok(self)
    }

    /// Whether it was sealed for such a command. Only a chamber with a single user knows that user before its command.
    pub(super) fn suits(&self, command: &Command) -> bool {
        match self.ids {
            IdMap::Shifted { .. } | IdMap::Identity { .. } => true,
            IdMap::Single { uid, gid } => (uid, gid) == (command.uid, command.gid),
        }
    }
}
