//! Ten thousand runners on one server: what they cost while they wait and while they run, and how soon all of them are
//! back when the server was started again.

mod runner;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Resource, getrlimit, setrlimit};
use tokio::task::{JoinSet, spawn_blocking};

use super::Scene;
use super::server::Server;
use super::words;
use super::world::{SPEC, World};
use crate::failure::Failure;
use crate::report::Measurement;
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use runner::Fleet;

const RUNNERS: usize = 10_000;
const CLIENTS: usize = 16;
const PROJECT: &str = "idle";
const ALONE_MIB: f64 = 40.0;
const IDLE_MIB: f64 = 120.0;
const IDLE_CORES: f64 = 0.03;
const RUNNING_CORES: f64 = 0.4;
const BACK_SECONDS: f64 = 30.0;
/// For how long processor time is counted.
const WATCHED: Duration = Duration::from_secs(20);
/// In which what came before dies down.
const SETTLE: Duration = Duration::from_secs(4);
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK: Duration = Duration::from_millis(10);

/// What a server took.
struct Cost {
    memory_mib: f64,
    cores: f64,
}

struct Found {
    alone_mib: f64,
    idle: Cost,
    running: Cost,
    /// Acknowledged in a second.
    beats: f64,
    back: Duration,
    still_running: u64,
    failed: u64,
}

pub(super) fn measure(scene: &Scene<'_>) -> Result<Measurement, Failure> {
    allow_files()?;
    let world = Arc::new(World::make(scene, "idle", RUNNERS)?);
    let server = world.start()?;
    let found = scene.runtime.block_on(watch(scene, &world, server))?;
    Ok(report(&found))
}

async fn watch(scene: &Scene<'_>, world: &Arc<World>, server: Server) -> Result<Found, Failure> {
    tokio::time::sleep(SETTLE).await;
    let alone_mib = server.memory_mib()?;
    (scene.say)("fleet: 10,000 runners connect");
    let mut fleet = Fleet::connect(world, server.address());
    let tally = Arc::clone(&fleet.tally);
    fleet.until(RUNNERS, |tally| &tally.connected).await?;
    (scene.say)("fleet: 10,000 idle runners");
    let idle = cost(&server).await?;
    (scene.say)("fleet: 10,000 runners begin a job");
    submit(world, &server).await?;
    fleet.until(RUNNERS, |tally| &tally.running).await?;
    (scene.say)("fleet: 10,000 heartbeats a second");
    tokio::time::sleep(SETTLE).await;
    let (acks, beating) = (tally.acks.load(Ordering::Relaxed), Stopwatch::start());
    let running = cost(&server).await?;
    let acks = tally.acks.load(Ordering::Relaxed) - acks;
    let beats = f64::from(acks) / beating.elapsed().as_secs_f64();
    (scene.say)("fleet: the server is started again");
    let (server, back) = restart(world, server, &mut fleet).await?;
    let still_running = count(world, &server, "running").await?;
    let failed = count(world, &server, "failed").await? + count(world, &server, "canceled").await?;
    fleet.go();
    spawn_blocking(move || server.stop())
        .await
        .expect("it does not panic")?;
    Ok(Found {
        alone_mib,
        idle,
        running,
        beats,
        back,
        still_running,
        failed,
    })
}

/// From the moment it was told to stop to the last runner that was heard again.
async fn restart(
    world: &Arc<World>,
    server: Server,
    fleet: &mut Fleet,
) -> Result<(Server, Duration), Failure> {
    let (port, world) = (server.address().port(), Arc::clone(world));
    let watch = Stopwatch::start();
    // Where it may block: runners are to notice meanwhile.
    let started = spawn_blocking(move || {
        server.stop()?;
        world.start_at(port)
    });
    let server = started.await.expect("it does not panic")?;
    fleet.until(RUNNERS, |tally| &tally.back).await?;
    Ok((server, watch.elapsed()))
}

async fn cost(server: &Server) -> Result<Cost, Failure> {
    tokio::time::sleep(SETTLE).await;
    let (watch, before) = (Stopwatch::start(), server.cpu()?);
    tokio::time::sleep(WATCHED).await;
    let cpu = server.cpu()?.saturating_sub(before);
    Ok(Cost {
        memory_mib: server.memory_mib()?,
        cores: cpu.as_secs_f64() / watch.elapsed().as_secs_f64(),
    })
}

/// A job for every runner.
async fn submit(world: &Arc<World>, server: &Server) -> Result<(), Failure> {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let mut http = world.connect(server).await?;
        clients.spawn(async move {
            let run = words::run(PROJECT, SPEC);
            for _ in 0..RUNNERS / CLIENTS {
                http.call("POST", "/v0/run", &run).await?;
            }
            Ok::<_, Failure>(())
        });
    }
    while let Some(done) = clients.join_next().await {
        done.expect("nobody cancels it")?;
    }
    Ok(())
}

async fn count(world: &World, server: &Server, status: &str) -> Result<u64, Failure> {
    let path = format!("/v0/projects/{PROJECT}/jobs?status={status}&per_page=1");
    let total = world.connect(server).await?.call("GET", &path, "").await?;
    total.ok_or_else(|| Failure::Wrong("a list without a count".to_owned()))
}

/// Each runner is a socket here and one in the server, which has the same limit.
fn allow_files() -> Result<(), Failure> {
    let wanted = RUNNERS as u64 + 500;
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return Ok(());
    }
    if limit.maximum.is_some_and(|maximum| maximum < wanted) {
        return Err(Failure::Wrong(format!(
            "10,000 runners need {wanted} open files: raise the limit (ulimit -Hn)"
        )));
    }
    limit.current = Some(wanted);
    setrlimit(Resource::Nofile, limit).map_err(|errno| Failure::io("open more files", errno.into()))
}

fn report(found: &Found) -> Measurement {
    let within = |what: &str, most: f64, reached: f64, shown: String| Target {
        what: what.to_owned(),
        verdict: Verdict::at_least(most, reached),
        reached: shown,
    };
    let memory = |what, most, mib: f64| within(what, most, mib, format!("{mib:.1} MiB"));
    let cores = |what, most, share: f64| within(what, most, share, format!("{:.1}%", share * 1e2));
    let back = found.back.as_secs_f64();
    let all_run = found.failed == 0 && found.still_running == RUNNERS as u64;
    Measurement {
        name: "fleet: idle",
        what: "one server and 10,000 runners, each with a channel",
        unit: "",
        fsync: None,
        sides: Vec::new(),
        targets: vec![
            memory("at most 40 MiB alone", ALONE_MIB, found.alone_mib),
            memory(
                "at most 120 MiB with 10,000 idle runners",
                IDLE_MIB,
                found.idle.memory_mib,
            ),
            cores(
                "less than 3% of a core for them",
                IDLE_CORES,
                found.idle.cores,
            ),
            cores(
                "at most 40% of a core for 10,000 heartbeats a second",
                RUNNING_CORES,
                found.running.cores,
            ),
            within(
                "all back within 30 s of a restart",
                BACK_SECONDS,
                back,
                format!("{back:.1} s"),
            ),
            Target {
                what: "and no job failed".to_owned(),
                verdict: if all_run {
                    Verdict::Met
                } else {
                    Verdict::Missed
                },
                reached: format!("{} run, {} do not", found.still_running, found.failed),
            },
        ],
        notes: vec![format!(
            "{:.0} heartbeats acknowledged in a second; {:.1} MiB while they run; idle runners ask again after 55 s",
            found.beats, found.running.memory_mib
        )],
    }
}
