//! The processes of runners, and what they do when they are told something.

use kiln_model::{Kind, Slot};

use super::{ConnectionId, Event, World};
use crate::runner::{Act, BenchRunner, LeaseRunner, Wake};
use crate::wire::{Down, Reply, Request};

#[derive(Debug)]
pub(super) struct Process {
    /// The runner it says it is.
    pub(super) runner: i64,
    /// The slot of it that this is, on the bench channel.
    pub(super) slot: Slot,
    pub(super) kind: Kind,
    pub(super) machine: Machine,
    /// Grows with every start; what was meant for an earlier life is lost.
    pub(super) life: u64,
    pub(super) alive: bool,
    /// A second process with the identity of another.
    pub(super) twin: bool,
    /// Stands still until then: hears nothing and says nothing.
    pub(super) asleep_until: i64,
    pub(super) connection: Option<ConnectionId>,
}

#[derive(Debug)]
pub(super) enum Machine {
    Bench(BenchRunner),
    Lease(LeaseRunner),
}

impl Process {
    /// A runner of leases, which names its jobs and so needs no slots on the wire.
    pub(super) fn leasing(runner: i64, kind: Kind, slots: usize) -> Self {
        let machine = Machine::Lease(LeaseRunner::new(slots));
        Self::new(runner, Slot::WHOLE, kind, machine, false)
    }

    /// A runner of the bench channel, or one slot of it.
    pub(super) fn bench(runner: i64, slot: Slot, twin: bool) -> Self {
        let machine = Machine::Bench(BenchRunner::default());
        Self::new(runner, slot, Kind::Bench, machine, twin)
    }

    fn new(runner: i64, slot: Slot, kind: Kind, machine: Machine, twin: bool) -> Self {
        Self {
            runner,
            slot,
            kind,
            machine,
            life: 0,
            alive: false,
            twin,
            asleep_until: 0,
            connection: None,
        }
    }

    pub(super) fn has_spooled(&self) -> bool {
        self.alive
            && match &self.machine {
                Machine::Bench(runner) => runner.has_spooled(),
                Machine::Lease(runner) => runner.has_spooled(),
            }
    }
}

impl World {
    pub(super) fn draw_processes(&mut self) {
        for resident in self.town.runners.clone() {
            let (id, kind) = (resident.id, resident.kind);
            let processes: Vec<Process> = match kind {
                Kind::Bench => resident
                    .bench_slots()
                    .map(|slot| Process::bench(id, slot, false))
                    .collect(),
                Kind::Action | Kind::Runtime => vec![Process::leasing(id, kind, resident.slots)],
            };
            for process in processes {
                self.processes.push(process);
                let process = self.processes.len() - 1;
                let delay = self.rng.within(0..=3_000);
                self.schedule.after(delay, Event::Boot { process });
            }
        }
    }

    pub(super) fn boot(&mut self, index: usize) {
        let process = &mut self.processes[index];
        if process.alive || (process.twin && self.calm) {
            return;
        }
        process.alive = true;
        process.life += 1;
        process.connection = None;
        let mut acts = Vec::new();
        match &mut process.machine {
            Machine::Bench(runner) => runner.boot(&mut acts),
            Machine::Lease(runner) => runner.boot(&mut self.rng, &mut acts),
        }
        let (kind, runner) = (process.kind.name(), process.runner);
        self.note(format_args!(
            "process {index} starts as {kind} runner {runner}"
        ));
        self.perform(index, acts);
    }

    pub(super) fn kill(&mut self, index: usize) {
        let process = &mut self.processes[index];
        process.alive = false;
        process.asleep_until = 0;
        if let Some(connection) = process.connection.take() {
            self.cut(connection);
        }
    }

    pub(super) fn wake(&mut self, index: usize, life: u64, wake: Wake) {
        let again = Event::Wake {
            process: index,
            life,
            wake,
        };
        if self.is_late(index, life, again) {
            return;
        }
        let mut acts = Vec::new();
        match &mut self.processes[index].machine {
            Machine::Bench(runner) => runner.wake(wake, &mut self.rng, &mut acts),
            Machine::Lease(runner) => runner.wake(wake, &mut self.rng, &mut acts),
        }
        self.perform(index, acts);
    }

    pub(super) fn deliver_reply(
        &mut self,
        index: usize,
        life: u64,
        request: &Request,
        reply: Reply,
    ) {
        let again = Event::Reply {
            process: index,
            life,
            request: request.clone(),
            reply: reply.clone(),
        };
        if self.is_late(index, life, again) {
            return;
        }
        let mut acts = Vec::new();
        if let Machine::Lease(runner) = &mut self.processes[index].machine {
            runner.hear(request, reply, &mut self.rng, &mut acts);
        }
        self.perform(index, acts);
    }

    pub(super) fn tell_process(&mut self, index: usize, word: Down) {
        let mut acts = Vec::new();
        if let Machine::Bench(runner) = &mut self.processes[index].machine {
            runner.hear(word, &mut self.rng, &mut acts);
        }
        self.perform(index, acts);
    }

    /// Does what a process wants.
    pub(super) fn perform(&mut self, index: usize, acts: Vec<Act>) {
        let life = self.processes[index].life;
        for act in acts {
            match act {
                Act::Open => self.open_connection(index),
                Act::Say(word) => self.say(index, word),
                Act::Ask(request) => self.ask(index, &request),
                Act::Wake(millis, wake) => self.schedule.after(
                    millis,
                    Event::Wake {
                        process: index,
                        life,
                        wake,
                    },
                ),
            }
        }
    }

    /// Whether an event comes to a process that is dead, or asleep: then it waits.
    fn is_late(&mut self, index: usize, life: u64, again: Event) -> bool {
        let process = &self.processes[index];
        if !process.alive || process.life != life {
            return true;
        }
        if self.schedule.now() < process.asleep_until {
            self.schedule.at(process.asleep_until, again);
            return true;
        }
        false
    }
}
