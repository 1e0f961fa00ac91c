//! Submissions alone, from many clients and from a few, into a project with a past and into one without.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::Scene;
use super::past::Past;
use super::server::Server;
use super::words;
use super::world::{SPEC, World};
use crate::failure::Failure;
use crate::fsync::Fsync;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::statistics::Summary;
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};

const MANY: usize = 64;
const FEW: usize = 8;
const MANY_PER_SECOND: f64 = 3_000.0;
const OF_THE_BOUND: f64 = 0.7;
/// How much slower a project with a past may be, and still be called the same.
const THE_SAME: f64 = 0.9;
const REPORTS: u32 = 100_000;
const FULL: &str = "full";

/// What happened in one round.
struct Round {
    many: Sample,
    many_full: Sample,
    few: Sample,
    /// Of eight by the time of an fsync.
    of_the_bound: f64,
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Measurement, Failure> {
    let world = World::make(scene, "submit", 0)?;
    let server = world.start()?;
    scene.runtime.block_on(async {
        let mut http = world.connect(&server).await?;
        let run = words::run(FULL, SPEC);
        http.call("POST", "/v0/run", &run).await
    })?;
    server.stop()?;
    (scene.say)("fleet: 100,000 reports");
    Past::open(&world.database())?.reports(REPORTS)?;
    let server = world.start()?;
    let mut probes = Vec::new();
    let mut rounds = Vec::new();
    for number in 0..=ROUNDS {
        (scene.say)(&format!("fleet: submit, round {number} of {ROUNDS}"));
        let round = round(scene, &world, &server, number, &mut probes)?;
        // The first one finds cold caches.
        rounds.extend((number > 0).then_some(round));
    }
    let memory = server.memory_mib()?;
    server.stop()?;
    Ok(report(&rounds, &probes, memory))
}

fn round(
    scene: &Scene<'_>,
    world: &World,
    server: &Server,
    number: u32,
    probes: &mut Vec<Fsync>,
) -> Result<Round, Failure> {
    let window = scene.window;
    let submit = |project: &str, clients| {
        let turn = turn(world, server, project, clients, window);
        scene.runtime.block_on(turn)
    };
    let many = submit(&format!("new-{number}"), MANY)?;
    let many_full = submit(FULL, MANY)?;
    let before = Fsync::probe(scene.place)?;
    let few = submit(&format!("few-{number}"), FEW)?;
    let around = [before, Fsync::probe(scene.place)?];
    let bound = Fsync::together(&around).times().bound(8.0, 1.0);
    probes.extend(around);
    Ok(Round {
        many,
        many_full,
        few,
        of_the_bound: few.rate() / bound,
    })
}

/// So many clients, each of which submits again as soon as it is answered.
async fn turn(
    world: &World,
    server: &Server,
    project: &str,
    clients: usize,
    window: Window,
) -> Result<Sample, Failure> {
    let run: Arc<str> = words::run(project, SPEC).into();
    // It makes the project, which only the first submission does.
    let mut first = world.connect(server).await?;
    first.call("POST", "/v0/run", &run).await?;
    let mut tasks = JoinSet::new();
    let mut connections = Vec::new();
    for _ in 0..clients {
        connections.push(world.connect(server).await?);
    }
    let (watch, cpu) = (Stopwatch::start(), server.cpu()?);
    for mut http in connections {
        let run = Arc::clone(&run);
        tasks.spawn(async move {
            let mut submitted = 0;
            while watch.elapsed() < window.measured {
                http.call("POST", "/v0/run", &run).await?;
                submitted += 1;
            }
            Ok::<u64, Failure>(submitted)
        });
    }
    let mut operations = 0;
    while let Some(done) = tasks.join_next().await {
        operations += done.expect("nobody cancels it")?;
    }
    Ok(Sample {
        operations,
        wall: watch.elapsed(),
        cpu: Some(
            server
                .cpu()?
                .saturating_sub(cpu)
                .max(Duration::from_millis(1)),
        ),
        ..Sample::default()
    })
}

fn report(rounds: &[Round], probes: &[Fsync], memory: f64) -> Measurement {
    let all = |of: fn(&Round) -> Sample| rounds.iter().map(of).collect::<Vec<Sample>>();
    let many = all(|round| round.many);
    let full = Side::beside(
        "64 clients, 100,000 reports in the project",
        &many,
        &all(|round| round.many_full),
    );
    let few = Side::ours("8 clients", &all(|round| round.few), Sample::rate);
    let many = Side::ours("64 clients, a new project", &many, Sample::rate);
    let ratio = full.ours_by_this.map_or(f64::NAN, |by| 1.0 / by.median);
    let share = Summary::of(rounds.iter().map(|round| round.of_the_bound));
    let targets = vec![
        Target {
            what: "64 clients: at least 3,000 a second".to_owned(),
            verdict: Verdict::at_least(many.rate.median, MANY_PER_SECOND),
            reached: format!("{:.0}", many.rate.median),
        },
        Target {
            what: "8 clients: at least 70% of 8 ÷ fsync time".to_owned(),
            verdict: Verdict::at_least(share.median, OF_THE_BOUND),
            reached: format!(
                "{:.0}% ({:.0}–{:.0}%)",
                share.median * 1e2,
                share.lowest * 1e2,
                share.highest * 1e2
            ),
        },
        Target {
            what: "the same with 100,000 reports in the project: at least 0.9 times as many"
                .to_owned(),
            verdict: Verdict::at_least(ratio, THE_SAME),
            reached: format!("{ratio:.2} times"),
        },
    ];
    Measurement {
        name: "fleet: submit",
        what: "each client submits again as soon as it is answered; CPU is the server's",
        unit: "runs/s",
        fsync: Some(Fsync::together(probes).times()),
        sides: vec![many, full, few],
        targets,
        notes: vec![format!("the server had {memory:.1} MiB in the end")],
    }
}
