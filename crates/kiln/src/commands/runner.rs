//! `kiln runner`.

pub(super) mod backend;
mod quiet;
mod run;
mod unit;
mod update;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_client::http_client;
use kiln_model::{Clock, Slot};
use kiln_runner::{
    AgentConfig, AgentError, Agents, Ended, Program, QuietHost, SandboxExecutor,
    SandboxExecutorConfig, Shutdown, Updates, host_facts,
};
use kiln_sandbox::{Backend, BaseKind, Check, Missing, check_limits};
use kiln_store::{SystemClock, SystemEntropy};

use super::Context;
use quiet::quiet_host;
pub(super) use run::run as run_once;
pub(super) use unit::run as unit;
pub(super) use update::{count_start, is_runner};

use super::server::{StopSignals, make_directory, runtime};
use crate::failure::{Exit, Failure};
use crate::log;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    count_start()?;
    let settings = &context.settings;
    log::install(settings.need("log")?)?;
    let config = AgentConfig {
        server_url: settings.need("host")?.to_owned(),
        runner: settings.need("runner")?.to_owned(),
        key: settings.need("key")?.to_owned(),
        data_dir: PathBuf::from(settings.need("runner-data")?),
    };
    let slots = slots(context)?;
    make_directory(&config.data_dir)?;
    let runtime = runtime()?;
    // Signals first: from here on who is asked to stop leaves the host as it was.
    let mut stop = StopSignals::install_in(&runtime)?;
    let host = quiet_host(context, &config.data_dir, slots)?;
    let mut updates = settings.is_on("auto-update")?.then(Updates::default);
    let program = Program::current()?;
    let next: Result<Next, Failure> = runtime.block_on(async {
        loop {
            let chambers = backend::chosen(context, &config.data_dir)?;
            let mut agents = agents(&config, slots, accepted(context)?, host.quiet(), chambers)?;
            if let Some(updates) = &updates {
                agents = agents.with_updates(updates);
            }
            let Ended::Update(offer) = run_agents(context, agents, &program, &mut stop).await?
            else {
                return Ok(Next::End);
            };
            let replaced = tokio::select! {
                replaced = update::replace(&program, &offer) => replaced,
                () = stop.received() => return Ok(Next::End),
            };
            match replaced {
                Ok(()) => return Ok(Next::Become),
                Err(error) => {
                    update::warn(context, &offer, &error);
                    if let Some(updates) = &mut updates {
                        updates.failed(&offer, &error);
                    }
                }
            }
        }
    });
    // What still runs ends with it.
    drop(runtime);
    match next? {
        Next::End => Ok(Exit::Ok),
        Next::Become => {
            // What becomes of this process would take what it finds for what was always there.
            drop(host);
            Err(update::become_it(&program))
        }
    }
}

/// What a runner does when its agents have ended.
enum Next {
    End,
    /// Become the program that is installed now.
    Become,
}

/// How many jobs the runner carries at once.
pub(super) fn slots(context: &Context<'_>) -> Result<u32, Failure> {
    let text = context.settings.need("slots")?;
    let slots = text.parse().ok();
    slots
        .filter(|slots| (1..=Slot::MOST).contains(slots))
        .ok_or_else(|| {
            let most = Slot::MOST;
            Failure::usage(format!(
                "--slots is a number from 1 to {most}, not {text:?}"
            ))
        })
}

/// Runs the agents to their end. The first time it reaches the server, a program on trial has proved itself.
async fn run_agents(
    context: &Context<'_>,
    agents: Agents,
    program: &Program,
    stop: &mut StopSignals,
) -> Result<Ended, Failure> {
    let shutdown = Shutdown::default();
    let connected = agents.connected();
    let running = tokio::spawn(agents.run(shutdown.clone()));
    let mut running = std::pin::pin!(running);
    let mut is_confirmed = false;
    loop {
        tokio::select! {
            ended = &mut running => return ended
                .map_err(|error| Failure::unexpected("the agent broke").because(&error))?
                .map_err(|error| explain(&error)),
            () = stop.received() => ask_to_stop(context, &shutdown),
            () = connected.cancelled(), if !is_confirmed => {
                is_confirmed = true;
                update::confirm(context, program);
            }
        }
    }
}

/// Agents that execute in sandboxes on this host, one for each slot.
pub(super) fn agents(
    config: &AgentConfig,
    slots: u32,
    missing_limits: Missing,
    quiet: QuietHost,
    backend: Box<dyn Backend>,
) -> Result<Agents, Failure> {
    make_directory(&config.data_dir)?;
    let host = host_facts(backend.isolation(), backend.name());
    let home = Home {
        data: &config.data_dir,
        server: Some(&config.server_url),
        missing_limits,
    };
    let executor = executor(&home, quiet, backend)?;
    let http = http_client(|builder| builder).map_err(|error| broke(&error))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let (executor, entropy) = (Arc::new(executor), Arc::new(SystemEntropy));
    Agents::new(config, slots, executor, clock, entropy)
        .map(|agents| agents.with_host(&host).with_uploads(&http))
        .map_err(|error| explain(&error))
}

/// Whether jobs run without the limits that this host cannot enforce.
pub(super) fn accepted(context: &Context<'_>) -> Result<Missing, Failure> {
    Ok(if context.settings.is_on("accept-missing-limits")? {
        Missing::Accept
    } else {
        Missing::Refuse
    })
}

/// Where and for whom jobs are executed.
struct Home<'a> {
    data: &'a Path,
    server: Option<&'a str>,
    missing_limits: Missing,
}

/// Chambers on this host, with nothing of an earlier process in their way.
fn executor(
    home: &Home<'_>,
    quiet: QuietHost,
    backend: Box<dyn Backend>,
) -> Result<SandboxExecutor, Failure> {
    kiln_sandbox::sweep().map_err(|error| broke(&error))?;
    // Better said now than by every job. The limits of a machine are its own.
    if home.missing_limits == Missing::Refuse && backend.base_kind() == BaseKind::Directory {
        can_be_limited(&check_limits())?;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    SandboxExecutor::open(
        SandboxExecutorConfig {
            quiet: Some(quiet),
            server: home.server.map(str::to_owned),
            missing_limits: home.missing_limits,
            ..SandboxExecutorConfig::new(home.data.join("cache"))
        },
        backend,
        http_client(|builder| builder).map_err(|error| broke(&error))?,
        Arc::clone(&clock),
    )
    .map_err(|error| broke(&error))
}

fn can_be_limited(limits: &Check) -> Result<(), Failure> {
    if limits.works {
        return Ok(());
    }
    let fix = limits.fix.as_deref().unwrap_or_default();
    Err(Failure::unexpected(format!(
        "this host cannot enforce the limits of jobs: {}",
        limits.detail
    ))
    .hint(format!(
        "{fix}, or run jobs without these limits with --accept-missing-limits"
    )))
}

fn broke(error: &dyn std::error::Error) -> Failure {
    Failure::unexpected("this host cannot execute jobs").because(error)
}

/// The first time: finish what is held. The second time: stop it.
fn ask_to_stop(context: &Context<'_>, shutdown: &Shutdown) {
    if shutdown.drain.is_cancelled() {
        shutdown.stop.cancel();
    } else {
        context
            .terminal
            .note("Finishing what is held, then stopping; once more to stop it now.");
        shutdown.drain.cancel();
    }
}

pub(super) fn explain(error: &AgentError) -> Failure {
    Failure::unexpected("the runner cannot go on").because(error)
}
