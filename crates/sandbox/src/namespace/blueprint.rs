//! What the chambers of one kind are made from.

use kiln_guest_init::protocol::{IdMap, Scratch, Seal, ToGuest, Uplink};

use super::ids::IdPlan;
use super::launcher::Family;
use super::standby::Standby;
use crate::cgroup::{Group, Hierarchies};
use crate::link::Guest as _;
use crate::network::NetworkPlan;
use crate::{ChamberSpec, Command, Error};

#[derive(Debug)]
pub(super) struct Blueprint {
    pub(super) family: Family,
    pub(super) layers: Vec<String>,
    pub(super) spec: ChamberSpec,
    pub(super) hierarchies: Hierarchies,
    pub(super) ids: IdPlan,
    pub(super) network: Option<NetworkPlan>,
}

impl Blueprint {
    /// Has a chamber made for such a command. Returns before it is sealed.
    pub(super) fn launch(&self, command: &Command) -> Result<Standby, Error> {
        self.begin(command, false)
    }

    /// Has as much of it made as comes before it is held. Returns before that is done.
    pub(super) fn launch_held(&self, command: &Command) -> Result<Standby, Error> {
        self.begin(command, true)
    }

    fn begin(&self, command: &Command, held: bool) -> Result<Standby, Error> {
        let group = Group::create(&self.hierarchies, &self.spec)?;
        let ids = self.ids.map_for(command);
        let mut guest = self.family.launch()?;
        let seal = self.seal(ids, &group, held);
        guest.link().tell(&ToGuest::Seal(seal))?;
        Ok(Standby::new(guest, group, ids))
    }

    fn seal(&self, ids: IdMap, group: &Group, held: bool) -> Seal {
        Seal {
            hostname: self.spec.hostname.clone(),
            layers: self.layers.clone(),
            ids,
            scratch: Scratch::Memory,
            disk_bytes: self.spec.disk_bytes,
            disk_inodes: self.spec.disk_inodes(),
            shared_memory_bytes: self.spec.shared_memory_bytes(),
            resolver: self
                .network
                .as_ref()
                .map_or_else(String::new, NetworkPlan::resolver_file),
            uplink: Uplink::None,
            cores: self.spec.cores.clone(),
            groups: group.legacy_entrances(),
            unified_group: group.unified(),
            held,
            // Its base is in the host's memory as far as it was used.
            warm: Vec::new(),
        }
    }
}
