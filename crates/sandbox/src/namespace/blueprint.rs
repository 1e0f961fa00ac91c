//! What the chambers of one kind are made from.

use std::os::fd::AsFd as _;
use std::sync::Arc;

use kiln_guest_init::protocol::{IdMap, Layer, Scratch, Seal, Stage, ToGuest};

use super::disk::{Disk, Plot};
use super::ids::IdPlan;
use super::launcher::Family;
use super::standby::Standby;
use crate::cgroup::{Group, Hierarchies};
use crate::link::Guest as _;
use crate::network::NetworkPlan;
use crate::probe::explain;
use crate::{ChamberSpec, Command, Error};

/// What takes the bytes that commands write.
#[derive(Debug)]
pub(super) enum Backing {
    Disk(Arc<Disk>),
    /// For want of a disk, for this reason.
    Memory(String),
}

#[derive(Debug)]
pub(super) struct Blueprint {
    pub(super) family: Family,
    pub(super) layers: Vec<String>,
    pub(super) spec: ChamberSpec,
    pub(super) hierarchies: Hierarchies,
    pub(super) ids: IdPlan,
    pub(super) network: Option<NetworkPlan>,
    pub(super) backing: Backing,
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
        let (plot, scratch) = match &self.backing {
            Backing::Disk(disk) => {
                Plot::on(disk, ids).map(|(plot, mount)| (Some(plot), Some(mount)))?
            }
            Backing::Memory(_) => (None, None),
        };
        let scratch = scratch.as_ref().map(|mount| mount.as_fd());
        // A command that starts as soon as its chamber is made has less noise beside it where the network is new too
        // (`bench steadiness`). Who is held has time.
        let mut guest = if held {
            self.family.launch(scratch)?
        } else {
            self.family.launch_stranger(scratch)?
        };
        let seal = self.seal(ids, &group, plot.as_ref(), held);
        guest.link().tell(&ToGuest::Seal(seal))?;
        Ok(Standby::new(guest, group, plot, ids))
    }

    fn seal(&self, ids: IdMap, group: &Group, plot: Option<&Plot>, held: bool) -> Seal {
        Seal {
            hostname: self.spec.hostname.clone(),
            layers: self.layers.clone(),
            ids,
            scratch: plot.map_or(Scratch::Memory, Plot::scratch),
            disk_bytes: self.spec.disk_bytes,
            disk_inodes: self.spec.disk_inodes(),
            shared_memory_bytes: self.spec.shared_memory_bytes(),
            resolver: self
                .network
                .as_ref()
                .map_or_else(String::new, NetworkPlan::resolver_file),
            device: false,
            cores: self.spec.cores.clone(),
            groups: group.legacy_entrances(),
            unified_group: group.unified(),
            held,
            // Its base is in the host's memory as far as it was used.
            warm: Vec::new(),
        }
    }

    /// Whether chambers can be made while one that has run is not gone yet.
    pub(super) fn serves_ahead(&self) -> bool {
        match &self.backing {
            Backing::Disk(disk) => disk.has_room() && !disk.is_worn(),
            Backing::Memory(_) => true,
        }
    }

    /// Changes to memory if that can cure a failure, and says whether it can.
    pub(super) fn does_without_disk_after(&mut self, error: &Error) -> bool {
        let Error::Seal {
            stage: Stage::Scratch | Stage::Overlay,
            ..
        } = error
        else {
            return false;
        };
        let had_disk = matches!(self.backing, Backing::Disk(_));
        if had_disk {
            self.backing = Backing::Memory(explain(error));
        }
        had_disk
    }

    /// What a run is told about where its bytes go.
    pub(super) fn disk_layer(&self) -> Layer {
        let bytes = self.spec.disk_bytes;
        match &self.backing {
            Backing::Disk(_) => {
                Layer::applied("disk", format!("{bytes} bytes on a disk of its own"))
            }
            Backing::Memory(reason) => Layer::missing(
                "disk",
                format!("{bytes} bytes in memory, which count against the memory limit: {reason}"),
            ),
        }
    }
}
