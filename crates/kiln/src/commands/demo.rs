//! `kiln demo`: one benchmark through every layer, on this machine, and nothing left behind.

mod image;
mod show;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use kiln_client::{Client, Comparing, PerfQuery};
use kiln_model::v0::{Job, NewRun, NewRunJob, Report};
use kiln_model::{Clock, JobUuid, Millis, Status};
use kiln_runner::{AgentConfig, QuietHost, Shutdown};
use kiln_sandbox::Missing;
use kiln_server::{Server, ServerConfig};
use kiln_store::{StoreConfig, SystemClock, SystemEntropy};

use super::server::{StopSignals, runtime};
use super::target::from_client;
use super::{Context, runner, up};
use crate::cli::Demo;
use crate::failure::{Exit, Failure};
use show::{Stages, Story};

const PROJECT: &str = "demo";
/// Enough for a comparison to be sure.
const ITERATIONS: u32 = 10;
/// How many numbers the second run sorts; the first sorts 10,000.
const SLOWER: &str = "15000";
/// Longer than this the demo is not worth waiting for.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub(super) fn run(context: &Context<'_>, demo: &Demo) -> Result<Exit, Failure> {
    // A demo that works has nothing to log; RUST_LOG-like filters still show everything.
    if context
        .settings
        .find("log")
        .is_some_and(|log| log.source != crate::settings::Source::Default)
    {
        crate::log::install(context.settings.need("log")?)?;
    }
    let runtime = runtime()?;
    // Signals first: from here on an interrupt cleans up.
    let mut stop = StopSignals::install_in(&runtime)?;
    let directory = tempfile::Builder::new().prefix("kiln-demo-").tempdir()?;
    let outcome = runtime.block_on(async {
        context.terminal.progress("starting a server");
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
        let mut stages = Stages::new(Arc::clone(&clock));
        let server = start_server(directory.path(), Arc::clone(&clock)).await?;
        stages.done("server started");
        let story = tokio::select! {
            story = play(context, directory.path(), &server, clock, stages) => story,
            () = stop.received() => Err(Failure::new(Exit::Interrupted, "interrupted")),
        };
        context.terminal.progress("stopping");
        server.stop().await;
        story
    });
    // What still runs ends with the runtime, before the directory goes.
    drop(runtime);
    context.terminal.end_progress();
    let kept = if demo.keep {
        Some(directory.keep())
    } else {
        None
    };
    let mut story = outcome?;
    story.keep(kept)?;
    if demo.json.json {
        context.terminal.json(&story)?;
    } else {
        story.print(context.terminal)?;
    }
    Ok(Exit::Ok)
}

async fn play(
    context: &Context<'_>,
    directory: &Path,
    server: &Server,
    clock: Arc<dyn Clock>,
    mut stages: Stages,
) -> Result<Story, Failure> {
    let terminal = context.terminal;
    let url = server.public_url().to_owned();
    let admin = server
        .admin_key()
        .map(str::to_owned)
        .ok_or_else(|| Failure::unexpected("a new server made no administrator key"))?;
    let client = Client::new(&url, Some(&admin)).map_err(from_client)?;

    terminal.progress("starting a runner");
    let key = up::local_runner(&client).await?;
    let agents = runner::agents(
        &AgentConfig {
            server_url: url.clone(),
            runner: "local".to_owned(),
            key,
            data_dir: directory.join("runner"),
        },
        1,
        // The benchmark is ours, and the demo is for everyone. What was missing is told at its end.
        Missing::Accept,
        QuietHost::untouched(),
        runner::backend::namespaces(&directory.join("runner")),
    )?;
    let shutdown = Shutdown::default();
    let agent = tokio::spawn(agents.run(shutdown.clone()));
    stages.done("runner started");

    terminal.progress("packing a benchmark into an image");
    let packed = image::pack(directory)?;
    stages.done("image packed");
    terminal.progress("pushing the image to the server's registry");
    image::push(&packed, &url, PROJECT, &admin).await?;
    stages.done("image pushed");

    let (base, job) = run_benchmark(context, &client, &*clock, None).await?;
    stages.done("first run");
    let (head, _) = run_benchmark(context, &client, &*clock, Some(SLOWER)).await?;
    stages.done("second run");
    let story = tell(&client, (base, head), job, &url, stages).await;

    terminal.progress("stopping");
    shutdown.drain.cancel();
    shutdown.stop.cancel();
    match agent.await {
        Ok(outcome) => drop(outcome.map_err(|error| runner::explain(&error))?),
        Err(error) => return Err(Failure::unexpected("the runner broke").because(&error)),
    }
    story
}

async fn start_server(directory: &Path, clock: Arc<dyn Clock>) -> Result<Server, Failure> {
    let data = directory.join("server");
    std::fs::create_dir(&data)?;
    let entropy = Arc::new(SystemEntropy);
    let mut store = StoreConfig::new(
        data.join("kiln.db").to_string_lossy(),
        Arc::clone(&clock),
        entropy.clone(),
    );
    store.objects = data.join("objects").to_string_lossy().into_owned();
    let config = ServerConfig::new(([127, 0, 0, 1], 0).into(), store);
    Server::start(config, clock, entropy)
        .await
        .map_err(|error| Failure::unexpected("the demo's server does not start").because(&error))
}

/// Runs the benchmark some times, sorting so many numbers, and answers its report and its job.
async fn run_benchmark(
    context: &Context<'_>,
    client: &Client,
    clock: &dyn Clock,
    numbers: Option<&str>,
) -> Result<(Report, Job), Failure> {
    let env = numbers.map(|numbers| BTreeMap::from([("NUMBERS".to_owned(), numbers.to_owned())]));
    let run = NewRun {
        project: Some(PROJECT.to_owned()),
        job: Some(NewRunJob {
            image: format!("{PROJECT}:latest"),
            iter: Some(ITERATIONS),
            env,
            ..NewRunJob::default()
        }),
        ..NewRun::default()
    };
    context.terminal.progress("submitting a run");
    let report = client.submit_run(&run).await.map_err(from_client)?;
    let job = report
        .job
        .ok_or_else(|| Failure::unexpected("the run has no job"))?;
    let job = wait(context, client, job, clock).await?;
    let report = client.get_report(PROJECT, report.uuid).await;
    Ok((report.map_err(from_client)?, job))
}

/// Follows the job until it has ended for good.
async fn wait(
    context: &Context<'_>,
    client: &Client,
    uuid: JobUuid,
    clock: &dyn Clock,
) -> Result<Job, Failure> {
    let deadline: Millis = clock.monotonic() + PATIENCE;
    loop {
        let job = client.get_job(PROJECT, uuid).await.map_err(from_client)?;
        context
            .terminal
            .progress(&format!("job {uuid} is {}", job.status));
        match job.status {
            Status::Processed => return Ok(job),
            Status::Failed | Status::Canceled | Status::Abandoned => {
                let why = job
                    .output
                    .and_then(|output| output.error)
                    .unwrap_or_default();
                return Err(Failure::new(
                    Exit::JobFailed,
                    format!("the job is {}: {why}", job.status),
                ));
            }
            Status::Pending | Status::Claimed | Status::Running | Status::Completed => {}
        }
        if clock.monotonic() > deadline {
            return Err(Failure::new(
                Exit::JobTimedOut,
                format!(
                    "the job is still {} after {} s",
                    job.status,
                    PATIENCE.as_secs()
                ),
            )
            .hint("`kiln demo --log debug` shows what the server and the runner do"));
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

async fn tell(
    client: &Client,
    (report, second): (Report, Report),
    job: Job,
    url: &str,
    stages: Stages,
) -> Result<Story, Failure> {
    let (base, head) = (report.uuid.to_string(), second.uuid.to_string());
    let comparing = Comparing {
        base: &base,
        head: &head,
        gate: None,
        confidence: None,
    };
    let comparison = client.compare(PROJECT, comparing).await;
    let perf = client.query_perf(PROJECT, &everything(&report)).await;
    let events = client
        .list_job_events(PROJECT, job.uuid)
        .await
        .map_err(from_client)?;
    Ok(Story {
        server: url.to_owned(),
        report,
        second,
        job,
        events,
        comparison: comparison.map_err(from_client)?,
        perf: perf.map_err(from_client)?,
        stages: stages.finish(),
        kept: None,
    })
}

/// All that a report measured.
fn everything(report: &Report) -> PerfQuery {
    let mut query = PerfQuery {
        branches: vec![report.branch.uuid],
        testbeds: vec![report.testbed.uuid],
        ..PerfQuery::default()
    };
    for result in report.results.iter().flatten().flatten() {
        if !query.benchmarks.contains(&result.benchmark.uuid) {
            query.benchmarks.push(result.benchmark.uuid);
        }
        for measure in &result.measures {
            if !query.measures.contains(&measure.measure.uuid) {
                query.measures.push(measure.measure.uuid);
            }
        }
    }
    query
}
