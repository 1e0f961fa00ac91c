//! A place for commands without walls: each run has a copy of the base to itself.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_guest_init::protocol::{IdMap, Scratch, Seal, ToGuest};
use kiln_model::Clock;

use super::tree::Tree;
use crate::cgroup::{Group, Hierarchies};
use crate::command::start_message;
use crate::link::Guest as _;
use crate::namespace::run::{Run, run};
use crate::namespace::{GuestProcess, Standby};
use crate::{
    CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Layer, Limits, Missing, OutputSink,
    Resource,
};

/// All ids but the one that means none.
const ALL_IDS: u32 = u32::MAX - 1;

#[derive(Debug)]
pub(super) struct ProcessChamber {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) base: PathBuf,
    pub(super) work_dir: PathBuf,
    pub(super) spec: ChamberSpec,
    pub(super) hierarchies: Hierarchies,
}

impl ProcessChamber {
    fn seal(&self, command: &Command, tree: &Tree, group: &Group) -> Result<Seal, Error> {
        let ids = if rustix::process::geteuid().is_root() {
            IdMap::Identity { count: ALL_IDS }
        } else {
            IdMap::Single {
                uid: command.uid,
                gid: command.gid,
            }
        };
        Ok(Seal {
            hostname: String::new(),
            layers: vec![tree.text()?],
            ids,
            scratch: Scratch::Memory,
            disk_bytes: 0,
            disk_inodes: 0,
            shared_memory_bytes: 0,
            resolver: String::new(),
            device: false,
            cores: self.spec.cores.clone(),
            groups: group.legacy_entrances(),
            unified_group: group.unified(),
            held: false,
            warm: Vec::new(),
        })
    }
}

impl Chamber for ProcessChamber {
    fn run(
        &mut self,
        command: &Command,
        limits: &Limits,
        sink: &mut dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<Exit, Error> {
        let mut start = start_message(command, limits, self.spec.processes)?;
        if !limits
            .resources
            .iter()
            .any(|bound| bound.resource == Resource::Processes)
        {
            // It would count every process of the same user on this host.
            let processes = Resource::Processes.number();
            start.limits.retain(|limit| limit.resource != processes);
        }
        let accepting = ChamberSpec {
            missing_limits: Missing::Accept,
            ..self.spec.clone()
        };
        let group = Group::create(&self.hierarchies, &accepting)?;
        let tree = Tree::copy(&self.base, &self.work_dir)?;
        let attempt = Run {
            clock: &*self.clock,
            start,
            network: None,
            limits,
            cancel,
        };
        let seal = self.seal(command, &tree, &group)?;
        let ids = seal.ids;
        let mut guest = GuestProcess::bare()?;
        guest.link().tell(&ToGuest::Seal(seal))?;
        let mut exit = run(
            &attempt,
            Standby::new(guest, group, None, ids),
            sink,
            &mut || {},
        )?;
        exit.sealed.layers.extend(missing_walls());
        Ok(exit)
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        // Runs clean up after themselves, and nothing is made between them.
        Ok(())
    }
}

fn missing_walls() -> [Layer; 3] {
    [
        Layer::missing("sandbox", "none: the command was a process of the host"),
        Layer::missing("network", "the host's own"),
        Layer::missing("disk", "as much as the host has"),
    ]
}
