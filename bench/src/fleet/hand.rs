//! From a submission to the job in an idle runner's hand, one at a time.

use std::time::Duration;

use super::Scene;
use super::channel::Channel;
use super::http::Http;
use super::server::Server;
use super::words::{self, POLL_SECONDS};
use super::world::{SPEC, World};
use crate::failure::Failure;
use crate::fsync::Probe;
use crate::report::Measurement;
use crate::statistics::{quantile, sorted};
use crate::stopwatch::Stopwatch;
use crate::target::{Target, Verdict};
use crate::window::ROUNDS;

/// In one round.
const JOBS: usize = 80;
/// The first ones find cold caches.
const WARM_UP: usize = 5;
/// In which the server puts the last result to use and the runner's question is heard, before the disk is probed and after it: it
/// is asked as seldom as a job asks it, and stalls as often.
const REST: Duration = Duration::from_millis(15);
const PROJECT: &str = "hand";

pub(super) fn measure(scene: &Scene<'_>) -> Result<Measurement, Failure> {
    let world = World::make(scene, "hand", 1)?;
    let server = world.start()?;
    let mut pair = scene.runtime.block_on(Pair::meet(&world, &server))?;
    let (mut probe, mut spans) = (Probe::open(scene.place)?, Vec::new());
    scene.runtime.block_on(pair.jobs(WARM_UP, &mut probe))?;
    for round in 1..=ROUNDS {
        (scene.say)(&format!("fleet: hand, round {round} of {ROUNDS}"));
        spans.extend(scene.runtime.block_on(pair.jobs(JOBS, &mut probe))?);
    }
    server.stop()?;
    let fsync = probe.finish()?;
    let millis = sorted(spans.iter().map(|span| span.as_secs_f64() * 1e3));
    let [p50, p99] = [0.5, 0.99].map(|share| quantile(&millis, share));
    let allowed_p50 = 5.0 + 2.0 * fsync.quantile_ms(0.5);
    let allowed_p99 = 10.0 + 4.0 * fsync.quantile_ms(0.99);
    let target = |what: &str, reached: f64, allowed: f64| Target {
        what: format!("{what}, here {allowed:.1} ms"),
        verdict: Verdict::at_least(allowed, reached),
        reached: format!("{reached:.2} ms"),
    };
    Ok(Measurement {
        name: "fleet: hand",
        what: "from a submission to the job in an idle runner's hand, one at a time",
        unit: "",
        fsync: Some(fsync.times()),
        sides: Vec::new(),
        targets: vec![
            target("p50 of at most 5 ms and two fsyncs", p50, allowed_p50),
            target(
                "p99 of at most 10 ms and four fsyncs' p99",
                p99,
                allowed_p99,
            ),
        ],
        notes: vec![format!(
            "lowest {:.2} ms, p50 {p50:.2} ms, p90 {:.2} ms, p99 {p99:.2} ms, highest {:.2} ms over {} jobs",
            quantile(&millis, 0.0),
            quantile(&millis, 0.9),
            quantile(&millis, 1.0),
            millis.len()
        )],
    })
}

/// A client and a runner.
struct Pair {
    http: Http,
    channel: Channel,
}

impl Pair {
    async fn meet(world: &World, server: &Server) -> Result<Self, Failure> {
        let http = world.connect(server).await?;
        let mut channel = Channel::open(server.address(), &world.runners[0], 0).await?;
        channel.say(&words::introduction(POLL_SECONDS)).await?;
        Ok(Self { http, channel })
    }

    async fn jobs(&mut self, count: usize, probe: &mut Probe) -> Result<Vec<Duration>, Failure> {
        let run = words::run(PROJECT, SPEC);
        let mut spans = Vec::with_capacity(count);
        for _ in 0..count {
            tokio::time::sleep(REST).await;
            probe.call()?;
            tokio::time::sleep(REST).await;
            let watch = Stopwatch::start();
            self.http.ask("POST", "/v0/run", &run).await?;
            let job = self.channel.job().await?;
            spans.push(watch.elapsed());
            self.http.answer().await?;
            self.channel.carry_out(&job).await?;
            self.channel.say(&words::ready(POLL_SECONDS)).await?;
        }
        Ok(spans)
    }
}
