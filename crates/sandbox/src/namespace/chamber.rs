//! One namespace chamber: everything but its base is made anew for each run, if it is said so while runs before it are
//! taken down.

use std::sync::Arc;

use kiln_model::Clock;

use super::blueprint::{Backing, Blueprint};
use super::disk::Disks;
use super::ids::IdPlan;
use super::launcher::Launcher;
use super::line::Line;
use super::run::{Run, run};
use crate::cgroup::Hierarchies;
use crate::command::start_message;
use crate::network::NetworkPlan;
use crate::probe::explain;
use crate::{CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Limits, OutputSink};

#[derive(Debug)]
pub(super) struct NamespaceChamber {
    clock: Arc<dyn Clock>,
    disks: Arc<Disks>,
    blueprint: Blueprint,
    line: Line,
    /// How many runs are expected after the next.
    further: u32,
}

impl NamespaceChamber {
    pub(super) fn new(
        clock: Arc<dyn Clock>,
        launcher: Arc<Launcher>,
        disks: Arc<Disks>,
        layers: Vec<String>,
        spec: ChamberSpec,
        hierarchies: Hierarchies,
    ) -> Result<Self, Error> {
        let network = spec
            .network
            .then(|| NetworkPlan::new(spec.blocked.clone()))
            .transpose()?;
        let backing = disk_for(&disks, &spec, layers.len());
        Ok(Self {
            clock,
            disks,
            blueprint: Blueprint {
                family: match network {
                    Some(_) => launcher.strangers(),
                    None => launcher.family(),
                },
                layers,
                spec,
                hierarchies,
                ids: IdPlan::strongest(),
                network,
                backing,
            },
            line: Line::default(),
            further: 0,
        })
    }
}

impl NamespaceChamber {
    /// Between runs, when nobody uses it but chambers that were made ahead.
    fn replace_worn_disk(&mut self) {
        if let Backing::Disk(disk) = &self.blueprint.backing
            && disk.is_worn()
        {
            self.line = Line::default();
            // It makes room for the other.
            self.blueprint.backing = Backing::Memory(String::new());
            let Blueprint { spec, layers, .. } = &self.blueprint;
            self.blueprint.backing = disk_for(&self.disks, spec, layers.len());
        }
    }
}

impl Drop for NamespaceChamber {
    fn drop(&mut self) {
        self.line = Line::default();
        let gone = Backing::Memory(String::new());
        if let Backing::Disk(disk) = std::mem::replace(&mut self.blueprint.backing, gone)
            && let Some(disk) = Arc::into_inner(disk)
        {
            self.disks.give_back(disk);
        }
    }
}

/// A disk, or why there is none.
fn disk_for(disks: &Disks, spec: &ChamberSpec, layers: usize) -> Backing {
    match disks.take(spec).and_then(|disk| {
        disk.take_layers(layers)?;
        Ok(disk)
    }) {
        Ok(disk) => Backing::Disk(Arc::new(disk)),
        Err(error) => Backing::Memory(explain(&error)),
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
        let start = start_message(command, limits, self.blueprint.spec.processes)?;
        self.replace_worn_disk();
        // A command that is measured has the host for itself.
        self.line.settle();
        loop {
            let Self {
                blueprint, line, ..
            } = self;
            let standby = line.take(blueprint, command)?;
            let attempt = Run {
                clock: &*self.clock,
                start: start.clone(),
                network: blueprint.network.as_ref(),
                limits,
                cancel,
            };
            let mut look_ahead = || {
                if blueprint.serves_ahead() {
                    line.advance(blueprint, command, self.further);
                }
            };
            match run(&attempt, standby, sink, &mut look_ahead) {
                Err(error) => {
                    self.line = Line::default();
                    if let Some(weaker) = self.blueprint.ids.after(&error) {
                        self.blueprint.ids = weaker;
                    } else if !self.blueprint.does_without_disk_after(&error) {
                        return Err(error);
                    }
                }
                Ok(mut exit) => {
                    exit.sealed.layers.push(self.blueprint.disk_layer());
                    return Ok(exit);
                }
            }
        }
    }

    fn expect(&mut self, further: u32) {
        self.further = further;
    }

    fn destroy(self: Box<Self>) -> Result<(), Error> {
        // Runs clean up after themselves, and what was made for others goes with its drop.
        Ok(())
    }
}
