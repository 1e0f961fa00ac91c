//! Who lives in a world: lanes, specs, runners and queues, drawn from the seed and written to the database once.

use std::time::Duration;

use kiln_control::bench::BenchSettings;
use kiln_control::{Denied, queues};
use kiln_model::v0::{Architecture, OperatingSystem};
use kiln_model::{Entropy as _, Kind, Millis, RunnerUuid, Slot, SpecUuid, Timeouts};
use kiln_store::Tx;
use kiln_store::sql::spec::Spec;
use kiln_store::sql::{lane, runner, spec};
use kiln_store::testing::SeededEntropy;

use crate::rng::Rng;

/// What the world knows about the server's configuration and its surroundings.
#[derive(Clone, Debug)]
pub(crate) struct Town {
    pub(crate) lease: i64,
    pub(crate) runners: Vec<Resident>,
    pub(crate) specs: Vec<String>,
    pub(crate) action_lanes: Vec<i64>,
    pub(crate) runtime_lanes: Vec<i64>,
    pub(crate) queues: Vec<i64>,
}

/// A runner by name. More than one process may claim to be it.
#[derive(Clone, Debug)]
pub(crate) struct Resident {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) slots: usize,
    pub(crate) lanes: Vec<i64>,
}

impl Resident {
    /// Each has a process of its own on the bench channel.
    pub(crate) fn bench_slots(&self) -> impl Iterator<Item = Slot> {
        let slots = u32::try_from(self.slots).unwrap_or(1);
        (0..slots).filter_map(move |number| Slot::new(number, slots))
    }
}

/// What is drawn before anything is written, because a transaction may run again.
#[derive(Clone, Debug)]
pub(crate) struct Blueprint {
    seed: u64,
    lease: i64,
    specs: i64,
    action_lanes: i64,
    queues: i64,
    /// Kind and slots of each runner.
    runners: Vec<(Kind, usize)>,
}

impl Blueprint {
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let mut runners = Vec::new();
        for _ in 0..rng.within(1..=2) {
            let slots = if rng.percent(50) { 2 } else { 1 };
            runners.push((Kind::Bench, slots));
        }
        for _ in 0..rng.within(1..=2) {
            let slots = if rng.percent(60) { 2 } else { 1 };
            runners.push((Kind::Action, slots));
        }
        runners.push((Kind::Runtime, 1));
        Self {
            seed: rng.next(),
            // A freeze of ten seconds, a pulse and a flush fit into a lease with room to spare.
            lease: rng.within(20..=30) * 1_000,
            specs: rng.within(1..=2),
            action_lanes: rng.within(1..=2),
            queues: rng.within(1..=2),
            runners,
        }
    }

    /// Writes it all.
    pub(crate) fn build(&self, tx: &mut dyn Tx) -> Result<Town, Denied> {
        let entropy = SeededEntropy::new(self.seed);
        let mut town = Town {
            lease: self.lease,
            runners: Vec::new(),
            specs: Vec::new(),
            action_lanes: Vec::new(),
            runtime_lanes: vec![lane::ensure(tx, "runtime")?],
            queues: Vec::new(),
        };
        let mut spec_lanes = Vec::new();
        for number in 0..self.specs {
            let slug = format!("spec-{number}");
            let lane = lane::ensure(tx, &slug)?;
            let spec = new_spec(tx.wall(), lane, &slug, &entropy);
            spec::insert(tx, &spec)?;
            town.specs.push(slug);
            spec_lanes.push(lane);
        }
        for number in 0..self.action_lanes {
            town.action_lanes
                .push(lane::ensure(tx, &format!("pool-{number}"))?);
        }
        for number in 0..self.queues {
            town.queues
                .push(queues::create(tx, &format!("queue-{number}"), 3)?);
        }
        for (number, (kind, slots)) in self.runners.iter().enumerate() {
            let lanes = match kind {
                Kind::Bench => spec_lanes.clone(),
                Kind::Action => town.action_lanes.clone(),
                Kind::Runtime => town.runtime_lanes.clone(),
            };
            let name = format!("runner-{number}");
            let uuid = RunnerUuid::mint(tx.wall(), &entropy);
            let id = runner::insert(
                tx,
                uuid,
                &name.parse().expect("a valid name"),
                &name.parse().expect("a valid slug"),
                &format!("hash-{number}"),
            )?;
            // The first runner of a kind serves everything; a later one may not.
            let first = !town.runners.iter().any(|other| other.kind == *kind);
            let keep = if first { lanes.len() } else { 1 };
            for lane in &lanes[..keep] {
                lane::link(tx, id, *lane)?;
            }
            town.runners.push(Resident {
                id,
                kind: *kind,
                slots: *slots,
                lanes: lanes[..keep].to_vec(),
            });
        }
        Ok(town)
    }
}

impl Town {
    pub(crate) fn bench_settings(&self) -> BenchSettings {
        let mut settings = BenchSettings::new("http://registry.invalid".to_owned());
        settings.heartbeat_timeout = Duration::from_millis(self.lease.unsigned_abs());
        settings.grace = Duration::from_secs(5);
        settings.set_up = Duration::from_secs(20);
        settings.default_timeout = Duration::from_secs(30);
        settings
    }

    pub(crate) fn timeouts(&self, run_secs: u64, pending_secs: Option<u64>) -> Timeouts {
        let bench = self.bench_settings();
        Timeouts {
            run: Duration::from_secs(run_secs),
            grace: bench.grace,
            lease: bench.heartbeat_timeout,
            set_up: bench.set_up,
            pending: pending_secs.map(Duration::from_secs),
        }
    }
}

fn new_spec(wall: Millis, lane: i64, slug: &str, entropy: &SeededEntropy) -> Spec {
    let mut first = [0; 1];
    entropy.fill(&mut first);
    Spec {
        id: 0,
        uuid: SpecUuid::mint(wall, entropy),
        lane,
        name: slug.parse().expect("a valid name"),
        slug: slug.parse().expect("a valid slug"),
        os: OperatingSystem::Linux,
        architecture: Architecture::X86_64,
        sandbox: None,
        cpu: u32::from(first[0] % 8) + 1,
        memory: 1 << 30,
        disk: 1 << 30,
        network: false,
        fallback: None,
        created: wall,
        modified: wall,
        archived: None,
        shared: first[0] & 0x80 != 0,
        isolation: None,
    }
}
