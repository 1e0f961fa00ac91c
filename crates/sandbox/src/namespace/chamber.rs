//! One namespace chamber: everything but its base is made anew for each run, if it is said so while runs before it are
//! taken down.

use std::sync::Arc;

use kiln_model::Clock;

use super::blueprint::Blueprint;
use super::ids::IdPlan;
use super::launcher::Launcher;
use super::line::Line;
use super::run::{Run, run};
use crate::cgroup::Hierarchies;
use crate::command::start_message;
use crate::network::NetworkPlan;
use crate::{CancelToken, Chamber, ChamberSpec, Command, Error, Exit, Limits, OutputSink};

#[derive(Debug)]
pub(super) struct NamespaceChamber {
    clock: Arc<dyn Clock>,
    blueprint: Blueprint,
    line: Line,
    /// How many runs are expected after the next.
    further: u32,
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
            },
            line: Line::default(),
            further: 0,
        })
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
            let mut look_ahead = || line.advance(blueprint, command, self.further);
            match run(&attempt, standby, sink, &mut look_ahead) {
                Err(error) => {
                    self.line = Line::default();
                    match self.blueprint.ids.after(&error) {
                        Some(weaker) => self.blueprint.ids = weaker,
                        None => return Err(error),
                    }
                }
                Ok(exit) => return Ok(exit),
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
