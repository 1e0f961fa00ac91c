//! What a runner adds to a job whose image it has: from the job's message to the result's, less the command.

mod control_plane;
mod registry;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_image::{Cache, Layout, Recipe, Source, build};
use kiln_runner::{
    Agent, AgentConfig, QuietHost, SandboxExecutor, SandboxExecutorConfig, Shutdown,
};
use kiln_sandbox::Namespaces;
use kiln_sandbox::quiet::{core_split, pin_this_thread};
use kiln_store::{SystemClock, SystemEntropy};
use tokio::runtime::Handle;

use crate::chamber::base;
use crate::failure::Failure;
use crate::report::{Measurement, Side};
use crate::sample::Sample;
use crate::statistics::{quantile, sorted};
use crate::target::{Target, Verdict};
use crate::window::{ROUNDS, Window};
use control_plane::ControlPlane;
use registry::Registry;

const P50_MS: f64 = 15.0;
/// The first jobs find cold caches.
const WARM_UP: usize = 5;

pub(crate) fn measure(
    place: &Path,
    window: Window,
    say: &dyn Fn(&str),
) -> Result<Measurement, Failure> {
    say("runner: jobs of a cached image, one after another");
    let quiet = core_split().map_or_else(QuietHost::untouched, QuietHost::pinned);
    let runtime = |kept: Vec<u32>| {
        tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .on_thread_start(move || {
                if !kept.is_empty() {
                    // It was possible to ask which there are.
                    let _ = pin_this_thread(&kept);
                }
            })
            .build()
            .map_err(|source| Failure::io("start a runtime", source))
    };
    let kept = quiet.cores().map(|cores| cores.housekeeping.clone());
    let (servers, runner) = (runtime(Vec::new())?, runtime(kept.unwrap_or_default())?);
    let data = place.join("runner");
    let image = cached_image(place, &data)?;
    let span = window.measured * ROUNDS;
    let spans = servers.block_on(run_jobs(&data, image, span, quiet, runner.handle()))?;
    let millis = sorted(
        spans
            .iter()
            .skip(WARM_UP)
            .map(|span| span.as_secs_f64() * 1e3),
    );
    let p50 = quantile(&millis, 0.5);
    let samples: Vec<Sample> = spans.iter().skip(WARM_UP).map(one).collect();
    Ok(Measurement {
        name: "runner",
        what: "overhead of a job with a cached image: asking the registry, the chamber, two looks at the host, the spool on disk",
        unit: "jobs/s",
        fsync: None,
        sides: vec![Side::ours(
            "ours: the agent with chambers",
            &samples,
            Sample::rate,
        )],
        targets: vec![Target {
            what: format!("p50 of at most {P50_MS} ms"),
            verdict: Verdict::at_least(P50_MS / p50, 1.0),
            reached: format!("{p50:.1} ms"),
        }],
        notes: vec![format!(
            "lowest {:.1} ms, p50 {p50:.1} ms, p90 {:.1} ms, p99 {:.1} ms over {} jobs, the command not counted",
            quantile(&millis, 0.0),
            quantile(&millis, 0.9),
            quantile(&millis, 0.99),
            millis.len()
        )],
    })
}

fn one(span: &Duration) -> Sample {
    Sample {
        operations: 1,
        wall: *span,
        ..Sample::default()
    }
}

/// A manifest, whose image is unpacked in the runner's cache.
fn cached_image(place: &Path, data: &Path) -> Result<Vec<u8>, Failure> {
    let wrong = |error: &dyn std::error::Error| Failure::Wrong(error.to_string());
    let root = base::make(&place.join("image"))?;
    let layout = Layout::create(place.join("image/layout")).map_err(|error| wrong(&error))?;
    let recipe = Recipe {
        entrypoint: vec!["/bin/true".to_owned()],
        ..Recipe::new(Source::Directory(root))
    };
    let image = build(&recipe, &layout, None).map_err(|error| wrong(&error))?;
    let cache = Cache::open(data.join("cache"), u64::MAX).map_err(|error| wrong(&error))?;
    drop(cache.rootfs(&image).map_err(|error| wrong(&error))?);
    let manifest = layout.read_blob(image.descriptor());
    manifest.map_err(|error| wrong(&error))
}

async fn run_jobs(
    data: &Path,
    manifest: Vec<u8>,
    span: Duration,
    quiet: QuietHost,
    runner: &Handle,
) -> Result<Vec<Duration>, Failure> {
    let registry = Registry::serve(manifest).await?;
    let control_plane = ControlPlane::listen().await?;
    let shutdown = Shutdown::default();
    let agent = agent(data, &control_plane.url(), quiet)?;
    let running = runner.spawn(agent.run(shutdown.clone()));
    let measured = control_plane.hand_out(&registry, span).await;
    shutdown.stop.cancel();
    shutdown.drain.cancel();
    // How it ends is of no interest.
    running.abort();
    measured
}

/// As `kiln runner up` has it, on a host whose settings are left as they are.
fn agent(data: &Path, server_url: &str, quiet: QuietHost) -> Result<Agent, Failure> {
    // There may be one already.
    drop(rustls::crypto::ring::default_provider().install_default());
    let wrong = |error: &dyn std::error::Error| Failure::Wrong(error.to_string());
    let clock = Arc::new(SystemClock::new());
    let executor = SandboxExecutor::open(
        SandboxExecutorConfig {
            quiet: Some(quiet),
            ..SandboxExecutorConfig::new(data.join("cache"))
        },
        Box::new(Namespaces::new(clock.clone(), data)),
        reqwest::Client::new(),
        clock.clone(),
    )
    .map_err(|error| wrong(&error))?;
    let config = AgentConfig {
        server_url: server_url.to_owned(),
        runner: "bench".to_owned(),
        key: "bencher_runner_bench".to_owned(),
        data_dir: data.to_owned(),
    };
    Agent::new(&config, Arc::new(executor), clock, Arc::new(SystemEntropy))
        .map_err(|error| wrong(&error))
}
