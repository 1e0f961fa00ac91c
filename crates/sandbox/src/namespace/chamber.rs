//! One namespace chamber: everything but its base is made anew for each run.

use std::sync::Arc;

use kiln_guest_init::protocol::{Scratch, Seal, ToGuest, Uplink};
use kiln_model::Clock;

use super::ids::IdPlan;
use super::run::{Run, run};
use crate::cgroup::{Group, Hierarchies};
use crate::command::start_message;
use crate::guest::Walls;
use crate::network::NetworkPlan;
use crate::{CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Limits, OutputSink};

#[derive(Debug)]
pub(super) struct NamespaceChamber {
    clock: Arc<dyn Clock>,
    layers: Vec<String>,
    spec: ChamberSpec,
    hierarchies: Hierarchies,
    ids: IdPlan,
    network: Option<NetworkPlan>,
}

impl NamespaceChamber {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        layers: Vec<String>,
        spec: ChamberSpec,
        hierarchies: Hierarchies,
    ) -> Result<Self, Error> {
        let network = spec
            .network
            .then(|| NetworkPlan::new(spec.blocked.clone()))
            .transpose()?;
        Ok(Self {
            clock,
            layers,
            spec,
            hierarchies,
            ids: IdPlan::strongest(),
            network,
        })
    }

    fn seal(&self, command: &Command, group: &Group) -> Seal {
        Seal {
            hostname: self.spec.hostname.clone(),
            layers: self.layers.clone(),
            ids: self.ids.map_for(command),
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
        }
    }
}

impl Chamber for NamespaceChamber {
    fn run(
        &mut self,
        command: &Command,
        limits: &Limits,
        sink: &mut dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<Exit, Error> {
        let start = start_message(command, limits, self.spec.processes)?;
        loop {
            let group = Group::create(&self.hierarchies, &self.spec)?;
            let seal = ToGuest::Seal(self.seal(command, &group));
            let attempt = Run {
                clock: &*self.clock,
                seal,
                start: start.clone(),
                network: self.network.as_ref(),
                limits,
                cancel,
            };
            match run(&attempt, Walls::Chamber, group, sink) {
                Err(error) => match self.ids.after(&error) {
                    Some(weaker) => self.ids = weaker,
                    None => return Err(error),
                },
                Ok(exit) => return Ok(exit),
            }
        }
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        // Runs clean up after themselves, and nothing is made between them.
        Ok(())
    }
}
