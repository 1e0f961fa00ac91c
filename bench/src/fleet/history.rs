//! Claims on a server with a past beside claims on a new one.

use std::time::Duration;

use super::Scene;
use super::channel::Channel;
use super::http::Http;
use super::past::Past;
use super::server::Server;
use super::words::{self, POLL_SECONDS};
use super::world::{ELSEWHERE, SPEC, World};
use crate::failure::Failure;
use crate::fsync::Fsync;
use crate::report::Measurement;
use crate::statistics::{quantile, sorted};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::ROUNDS;

const FINISHED: u32 = 1_000_000;
const WAITING: u32 = 100_000;
/// In one round, on each server.
const CLAIMS: usize = 100;
/// The first ones find cold caches.
const WARM_UP: usize = 20;
const TIMES: f64 = 2.0;
const PROJECT: &str = "history";
const LOOK: Duration = Duration::from_millis(5);

pub(super) fn measure(scene: &Scene<'_>) -> Result<Measurement, Failure> {
    let mut new = Side::start(World::make(scene, "new", 1)?, scene)?;
    (scene.say)("fleet: 1,000,000 finished jobs, and 100,000 that wait");
    let mut old = Side::start(old(scene)?, scene)?;
    let mut probes = Vec::new();
    for round in 1..=ROUNDS {
        (scene.say)(&format!("fleet: history, round {round} of {ROUNDS}"));
        probes.push(Fsync::probe(scene.place)?);
        for side in [&mut new, &mut old] {
            scene.runtime.block_on(side.claims(CLAIMS))?;
        }
    }
    let sides = [new, old].map(Side::end);
    let [new, old] = sides;
    let (new, old) = (new?, old?);
    let ratio = old.p99 / new.p99;
    Ok(Measurement {
        name: "fleet: history",
        what: "from `ready` to the job, by a runner that finds one waiting",
        unit: "",
        fsync: Some(Fsync::together(&probes).times()),
        sides: Vec::new(),
        targets: vec![Target {
            what: "1,000,000 finished jobs, and 100,000 ahead for another spec or under a limit: p99 by less than 2"
                .to_owned(),
            verdict: Verdict::at_least(TIMES, ratio),
            reached: format!("{ratio:.2} times"),
        }],
        notes: vec![new.line("without them"), old.line("with them")],
    })
}

/// A world with a past.
fn old(scene: &Scene<'_>) -> Result<World, Failure> {
    // The second runner holds what the limit allows.
    let world = World::make(scene, "old", 2)?;
    let mut side = Side::start(world, scene)?;
    scene.runtime.block_on(async {
        let elsewhere = words::run(PROJECT, ELSEWHERE);
        side.http.call("POST", "/v0/run", &elsewhere).await?;
        let path = format!("/v0/projects/{PROJECT}/jobs?status=processed");
        while side.http.call("GET", &path, "").await? != Some(WARM_UP as u64) {
            tokio::time::sleep(LOOK).await;
        }
        Ok::<_, Failure>(())
    })?;
    side.server.stop()?;
    Past::open(&side.world.database())?.years(FINISHED, WAITING)?;
    Ok(side.world)
}

/// A server with a client and a runner.
struct Side {
    world: World,
    server: Server,
    http: Http,
    channel: Channel,
    millis: Vec<f64>,
}

impl Side {
    fn start(world: World, scene: &Scene<'_>) -> Result<Self, Failure> {
        let server = world.start()?;
        let (http, channel) = scene.runtime.block_on(async {
            let http = world.connect(&server).await?;
            let channel = Channel::open(server.address(), &world.runners[0], 0).await?;
            Ok::<_, Failure>((http, channel))
        })?;
        let mut side = Self {
            world,
            server,
            http,
            channel,
            millis: Vec::new(),
        };
        scene.runtime.block_on(side.claims(WARM_UP))?;
        side.millis.clear();
        Ok(side)
    }

    async fn claims(&mut self, count: usize) -> Result<(), Failure> {
        let run = words::run(PROJECT, SPEC);
        for _ in 0..count {
            self.http.call("POST", "/v0/run", &run).await?;
            let watch = Stopwatch::start();
            self.channel.say(&words::ready(POLL_SECONDS)).await?;
            let job = self.channel.job().await?;
            self.millis.push(watch.elapsed().as_secs_f64() * 1e3);
            self.channel.carry_out(&job).await?;
        }
        Ok(())
    }

    fn end(self) -> Result<Claims, Failure> {
        let millis = sorted(self.millis);
        let memory_mib = self.server.memory_mib()?;
        self.server.stop()?;
        Ok(Claims {
            p50: quantile(&millis, 0.5),
            p99: quantile(&millis, 0.99),
            highest: quantile(&millis, 1.0),
            count: millis.len(),
            memory_mib,
        })
    }
}

struct Claims {
    p50: f64,
    p99: f64,
    highest: f64,
    count: usize,
    memory_mib: f64,
}

impl Claims {
    fn line(&self, name: &str) -> String {
        format!(
            "{name}: p50 {:.2} ms, p99 {:.2} ms, highest {:.2} ms over {} claims; {:.1} MiB",
            self.p50, self.p99, self.highest, self.count, self.memory_mib
        )
    }
}
