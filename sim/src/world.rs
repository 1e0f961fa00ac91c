//! One seed, one world: its events in order, with a look at the database after every step.

mod check;
mod faults;
mod network;
mod people;
mod process;
mod serve;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kiln_control::Denied;
use kiln_store::Reader;
use kiln_store::testing::{MemoryDatabase, SeededEntropy};

use crate::clock::SimClock;
use crate::crash::CrashPlan;
use crate::invariants;
use crate::objects::SimObjects;
use crate::outcome::{Outcome, Violation};
use crate::rng::Rng;
use crate::schedule::Schedule;
use crate::server::{Host, Server, Trouble};
use crate::shadow::Shadow;
use crate::snapshot::{Snapshot, is_unfinished};
use crate::till::SimTill;
use crate::town::{Blueprint, Town};
use crate::trace::Trace;
use crate::wire::{Reply, Request};

use faults::Fault;
use network::{Connection, ConnectionId};
use people::{Errand, Wish};
use process::Process;

/// What a run may be asked for besides its seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep the whole trace, not only its end.
    pub verbose: bool,
    /// Sabotage: results are acknowledged before they are committed.
    pub acknowledge_early: bool,
}

/// How long a calm world may take to finish its work: every job of it after the other, with all retries.
const PATIENCE: i64 = 3_600_000;

#[derive(Debug)]
pub(crate) struct World {
    rng: Rng,
    options: Options,
    schedule: Schedule<Event>,
    trace: Trace,
    steps: u64,
    faults: u64,
    host: Host,
    town: Town,
    server: Option<Server>,
    /// Grows with every start, so that what was meant for an earlier server is not taken for a later one's.
    server_number: u64,
    tick_number: u64,
    frozen_until: i64,
    processes: Vec<Process>,
    connections: BTreeMap<ConnectionId, Connection>,
    next_connection: ConnectionId,
    wishes: Vec<Wish>,
    /// Jobs whose result somebody is about to fetch.
    fetching: BTreeSet<i64>,
    /// What runners said of a job and epoch, to say it again.
    said: BTreeMap<(i64, i64), (i64, Vec<Request>)>,
    calm: bool,
    reader: Reader,
    seen: Arc<Snapshot>,
    seen_commits: u64,
    seen_changes: i64,
    shadow: Shadow,
}

#[derive(Debug)]
enum Event {
    ServerStart,
    Tick {
        number: u64,
    },
    Flush {
        server: u64,
    },
    /// The next word on a connection arrives at the server.
    Up(ConnectionId),
    /// The next word on a connection arrives at the runner.
    Down(ConnectionId),
    Request {
        process: usize,
        life: u64,
        request: Request,
    },
    Reply {
        process: usize,
        life: u64,
        request: Request,
        reply: Reply,
    },
    Wake {
        process: usize,
        life: u64,
        wake: crate::runner::Wake,
    },
    Boot {
        process: usize,
    },
    /// A process ends for good.
    Quit {
        process: usize,
    },
    Errand(Errand),
    Fault(Fault),
    /// A server that stood still goes on.
    Thaw,
    Calm,
}

/// Runs the world of a seed to its end, or to its first broken promise.
pub fn run(seed: u64, options: Options) -> Outcome {
    match World::new(seed, options) {
        Ok(world) => world.run(seed),
        Err(trouble) => Outcome {
            seed,
            steps: 0,
            faults: 0,
            hash: 0,
            violation: Some(Violation::new("set-up", format!("{trouble:?}"))),
            trace: Vec::new(),
        },
    }
}

impl World {
    fn new(seed: u64, options: Options) -> Result<Self, Trouble> {
        let mut rng = Rng::new(seed);
        let host = Host {
            database: MemoryDatabase::new()
                .map_err(|error| Trouble::Unexpected(error.to_string()))?,
            objects: Arc::new(SimObjects::default()),
            till: Arc::new(SimTill::default()),
            clock: Arc::new(SimClock::new()),
            entropy: SeededEntropy::new(rng.next()),
            plan: Arc::new(CrashPlan::default()),
            batch: usize::try_from(rng.within(1..=4)).unwrap_or(1),
        };
        let blueprint = Blueprint::draw(&mut rng);
        let server = Server::start(&host)?;
        let town = server
            .store
            .ledger
            .submit(move |tx| blueprint.build(tx))
            .wait()
            .map_err(|denied: Denied| Trouble::Unexpected(denied.to_string()))?;
        let mut shadow = Shadow::default();
        for resident in &town.runners {
            shadow.lanes.insert(resident.id, resident.lanes.clone());
        }
        let mut world = Self {
            rng,
            options,
            schedule: Schedule::new(),
            trace: Trace::new(options.verbose),
            steps: 0,
            faults: 0,
            host,
            reader: server.store.reader.clone(),
            server: Some(server),
            town,
            server_number: 0,
            tick_number: 0,
            frozen_until: 0,
            processes: Vec::new(),
            connections: BTreeMap::new(),
            next_connection: 0,
            wishes: Vec::new(),
            fetching: BTreeSet::new(),
            said: BTreeMap::new(),
            calm: false,
            seen: Arc::default(),
            seen_commits: 0,
            seen_changes: 0,
            shadow,
        };
        world.begin();
        Ok(world)
    }

    fn begin(&mut self) {
        self.settle_in();
        self.draw_processes();
        let end = self.rng.within(90_000..=140_000);
        self.draw_wishes(end * 2 / 3);
        self.draw_faults(end);
        self.schedule.at(end, Event::Calm);
    }

    fn run(mut self, seed: u64) -> Outcome {
        let violation = self.play().err();
        let faults = self.faults;
        self.note(format_args!("the end, after {faults} faults"));
        Outcome {
            seed,
            steps: self.steps,
            faults,
            hash: self.trace.hash(),
            violation,
            trace: self.trace.into_lines(),
        }
    }

    fn play(&mut self) -> Result<(), Violation> {
        let mut patience = None;
        while let Some((passed, event)) = self.schedule.next() {
            self.host.clock.advance(passed);
            self.steps += 1;
            self.handle(event)?;
            if !self.calm {
                continue;
            }
            let end = *patience.get_or_insert_with(|| self.schedule.now() + PATIENCE);
            if self.is_done() || self.schedule.now() > end {
                break;
            }
        }
        let invalid = self.invalid_reports()?;
        invariants::check_end(&self.seen, &invalid)?;
        invariants::check_billed(&self.seen, &self.host.till)
    }

    fn handle(&mut self, event: Event) -> Result<(), Violation> {
        if event.is_for_server() && self.schedule.now() < self.frozen_until {
            self.schedule.at(self.frozen_until, event);
            return Ok(());
        }
        match event {
            Event::ServerStart => self.start_server(),
            Event::Tick { number } => self.tick(number),
            Event::Flush { server } => self.flush(server),
            Event::Up(connection) => self.deliver_up(connection),
            Event::Down(connection) => {
                self.deliver_down(connection);
                Ok(())
            }
            Event::Request {
                process,
                life,
                request,
            } => self.serve_request(process, life, &request),
            Event::Reply {
                process,
                life,
                request,
                reply,
            } => {
                self.deliver_reply(process, life, &request, reply);
                Ok(())
            }
            Event::Wake {
                process,
                life,
                wake,
            } => {
                self.wake(process, life, wake);
                Ok(())
            }
            Event::Boot { process } => {
                self.boot(process);
                Ok(())
            }
            Event::Quit { process } => {
                self.kill(process);
                Ok(())
            }
            Event::Errand(errand) => self.run_errand(errand),
            Event::Fault(fault) => self.strike(fault),
            Event::Thaw => {
                self.host.clock.suspend(false);
                Ok(())
            }
            Event::Calm => self.calm_down(),
        }
    }

    /// Nothing is left to do.
    fn is_done(&self) -> bool {
        self.server.is_some()
            && self.wishes.iter().all(Wish::is_settled)
            && !self.seen.all_jobs().any(is_unfinished)
            && self.seen.waiting_frames == 0
            && self.seen.minutes_owed == 0
            && !self.processes.iter().any(Process::has_spooled)
    }

    fn note(&mut self, what: std::fmt::Arguments<'_>) {
        self.trace.line(self.schedule.now(), what);
    }
}

impl Event {
    /// Whether a server that stands still keeps it waiting.
    const fn is_for_server(&self) -> bool {
        matches!(
            self,
            Self::Tick { .. }
                | Self::Flush { .. }
                | Self::Up(_)
                | Self::Request { .. }
                | Self::Errand(_)
        )
    }
}
