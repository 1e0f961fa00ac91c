//! A chamber that is sealed, or about to be, and waits for its command.

use kiln_guest_init::protocol::IdMap;

use super::guest_process::GuestProcess;
use crate::Command;
use crate::cgroup::Group;

/// Dropping it ends the guest, and then removes its group.
#[derive(Debug)]
pub(crate) struct Standby {
    pub(crate) guest: GuestProcess,
    pub(crate) group: Group,
    ids: IdMap,
}

impl Standby {
    pub(crate) fn new(guest: GuestProcess, group: Group, ids: IdMap) -> Self {
        Self { guest, group, ids }
    }

    /// Whether it was sealed for such a command. Only a chamber with a single user knows that user before its command.
    pub(super) fn suits(&self, command: &Command) -> bool {
        match self.ids {
            IdMap::Shifted { .. } | IdMap::Identity { .. } => true,
            IdMap::Single { uid, gid } => (uid, gid) == (command.uid, command.gid),
        }
    }
}
