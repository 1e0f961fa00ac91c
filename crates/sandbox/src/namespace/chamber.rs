//! One namespace chamber: everything but its base is made anew for each run, if it is said so while the run before it is
//! taken down.

use std::sync::Arc;

use kiln_guest_init::protocol::{IdMap, Scratch, Seal, ToGuest, Uplink};
use kiln_model::Clock;

use super::ids::IdPlan;
use super::launcher::Launcher;
use super::run::{Run, run};
use super::standby::Standby;
use crate::cgroup::{Group, Hierarchies};
use crate::command::start_message;
use crate::link::Guest as _;
use crate::network::NetworkPlan;
use crate::{CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Limits, OutputSink};

#[derive(Debug)]
pub(super) struct NamespaceChamber {
    clock: Arc<dyn Clock>,
    launcher: Arc<Launcher>,
    layers: Vec<String>,
    spec: ChamberSpec,
    hierarchies: Hierarchies,
    ids: IdPlan,
    network: Option<NetworkPlan>,
    /// Whether the next run is not the last.
    expects_another: bool,
    standby: Option<Standby>,
}

impl NamespaceChamber {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        launcher: Arc<Launcher>,
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
            launcher,
            layers,
            spec,
            hierarchies,
            ids: IdPlan::strongest(),
            network,
            expects_another: false,
            standby: None,
        })
    }

    /// Has a chamber made for such a command. Returns before it is sealed.
    fn stand_by(&self, command: &Command) -> Result<Standby, Error> {
        let group = Group::create(&self.hierarchies, &self.spec)?;
        let ids = self.ids.map_for(command);
        let mut guest = self.launcher.launch()?;
        guest.link().tell(&ToGuest::Seal(self.seal(ids, &group)))?;
        Ok(Standby::new(guest, group, ids))
    }

    fn seal(&self, ids: IdMap, group: &Group) -> Seal {
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
            // Its base is in the host's memory as far as it was used.
            warm: Vec::new(),
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
            let standby = self.standby.take().filter(|it| it.suits(command));
            let standby = match standby {
                Some(standby) => standby,
                None => self.stand_by(command)?,
            };
            let attempt = Run {
                clock: &*self.clock,
                start: start.clone(),
                network: self.network.as_ref(),
                limits,
                cancel,
            };
            let mut next = None;
            let mut look_ahead = || {
                // What goes wrong here goes wrong again, and is told, when it is needed.
                next = self.expects_another.then(|| self.stand_by(command).ok());
            };
            match run(&attempt, standby, sink, &mut look_ahead) {
                Err(error) => match self.ids.after(&error) {
                    Some(weaker) => self.ids = weaker,
                    None => return Err(error),
                },
                Ok(exit) => {
                    self.standby = next.flatten();
                    return Ok(exit);
                }
            }
        }
    }

    fn expect_another(&mut self, another: bool) {
        self.expects_another = another;
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        // Runs clean up after themselves, and what was made for another goes with its drop.
        Ok(())
    }
}
