//! Whole lives of jobs: submitted, claimed, running, completed, processed.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::Scene;
use super::channel::Channel;
use super::http::Http;
use super::server::Server;
use super::words::{self, POLL_SECONDS};
use super::world::{Credentials, SPEC, World};
use crate::failure::Failure;
use crate::fsync::Fsync;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::stopwatch::{Stopwatch, process_cpu};
use crate::target::{Target, Verdict};
use crate::window::ROUNDS;

const RUNNERS: usize = 256;
const CLIENTS: usize = 64;
/// How many jobs may be submitted and not yet completed: twice what the runners can hold.
const UNDER_WAY: usize = 512;
const PER_SECOND: f64 = 2_000.0;
/// How often is looked whether all results were put to use.
const LOOK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_mins(2);

pub(super) fn measure(scene: &Scene<'_>) -> Result<Measurement, Failure> {
    let world = World::make(scene, "lifecycles", RUNNERS)?;
    let server = world.start()?;
    let entered = scene.runtime.enter();
    let mut fleet = Fleet::meet(&world, &server);
    drop(entered);
    let (mut probes, mut samples) = (Vec::new(), Vec::new());
    let own = process_cpu();
    for round in 0..=ROUNDS {
        (scene.say)(&format!("fleet: lifecycles, round {round} of {ROUNDS}"));
        probes.push(Fsync::probe(scene.place)?);
        // A project for each, so that counting what is done in it stays cheap.
        let project = format!("round-{round}");
        let turn = fleet.turn(&world, &server, &project, scene.window.measured);
        let sample = scene.runtime.block_on(turn)?;
        // The first one finds cold caches.
        samples.extend((round > 0).then_some(sample));
    }
    probes.push(Fsync::probe(scene.place)?);
    let own = process_cpu().saturating_sub(own);
    let memory = server.memory_mib()?;
    server.stop()?;
    let ours = Side::ours("256 runners, 64 clients", &samples, Sample::rate);
    let done = f64::from(u32::try_from(fleet.processed).unwrap_or(u32::MAX));
    Ok(Measurement {
        name: "fleet: lifecycles",
        what: "submitted, claimed, running, completed, processed, until the last one is; CPU is the server's",
        unit: "jobs/s",
        fsync: Some(Fsync::together(&probes).times()),
        targets: vec![Target {
            what: "at least 2,000 a second".to_owned(),
            verdict: Verdict::at_least(ours.rate.median, PER_SECOND),
            reached: format!("{:.0}", ours.rate.median),
        }],
        sides: vec![ours],
        notes: vec![format!(
            "runners and clients took {:.0} µs of CPU for each job; the server had {memory:.1} MiB in the end",
            own.as_secs_f64() * 1e6 / done
        )],
    })
}

/// Runners at work, and how far they came.
struct Fleet {
    runners: JoinSet<Result<Infallible, Failure>>,
    under_way: Arc<Semaphore>,
    processed: u64,
}

impl Fleet {
    fn meet(world: &World, server: &Server) -> Self {
        let under_way = Arc::new(Semaphore::new(UNDER_WAY));
        let mut runners = JoinSet::new();
        for (place, runner) in world.runners.iter().enumerate() {
            let work = work(
                server.address(),
                runner.clone(),
                place,
                Arc::clone(&under_way),
            );
            runners.spawn(work);
        }
        Self {
            runners,
            under_way,
            processed: 0,
        }
    }

    /// Submits for so long, and waits until all of it is processed.
    async fn turn(
        &mut self,
        world: &World,
        server: &Server,
        project: &str,
        span: Duration,
    ) -> Result<Sample, Failure> {
        let run: Arc<str> = words::run(project, SPEC).into();
        let submitted = Arc::new(AtomicU64::new(0));
        let mut clients = JoinSet::new();
        let (watch, cpu) = (Stopwatch::start(), server.cpu()?);
        for _ in 0..CLIENTS {
            let mut http = world.connect(server).await?;
            let (run, under_way) = (Arc::clone(&run), Arc::clone(&self.under_way));
            let submitted = Arc::clone(&submitted);
            clients.spawn(async move {
                while watch.elapsed() < span {
                    let place = under_way.acquire().await.expect("nobody closes it");
                    place.forget();
                    http.call("POST", "/v0/run", &run).await?;
                    submitted.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<_, Failure>(())
            });
        }
        let mut http = world.connect(server).await?;
        let ended = async {
            while let Some(done) = clients.join_next().await {
                done.expect("nobody cancels it")?;
            }
            let all = submitted.load(Ordering::Relaxed);
            while processed(&mut http, project).await? < all {
                tokio::time::sleep(LOOK).await;
            }
            Ok::<u64, Failure>(all)
        };
        let operations = tokio::select! {
            all = ended => all?,
            Some(broken) = self.runners.join_next() => {
                let Err(broken) = broken.expect("nobody cancels it");
                return Err(broken);
            }
            () = tokio::time::sleep(span + PATIENCE) => {
                return Err(Failure::Wrong("jobs were not processed in time".to_owned()));
            }
        };
        self.processed += operations;
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
}

/// One runner, until something breaks.
async fn work(
    server: SocketAddr,
    runner: Credentials,
    place: usize,
    under_way: Arc<Semaphore>,
) -> Result<Infallible, Failure> {
    let mut channel = Channel::open(server, &runner, place).await?;
    channel.say(&words::introduction(POLL_SECONDS)).await?;
    loop {
        let job = channel.job().await?;
        channel.carry_out(&job).await?;
        under_way.add_permits(1);
        channel.say(&words::ready(POLL_SECONDS)).await?;
    }
}

async fn processed(http: &mut Http, project: &str) -> Result<u64, Failure> {
    let path = format!("/v0/projects/{project}/jobs?status=processed&per_page=1");
    let total = http.call("GET", &path, "").await?;
    total.ok_or_else(|| Failure::Wrong("a list without a count".to_owned()))
}
