//! `kiln runner up`.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_model::Clock;
use kiln_runner::{
    Agent, AgentConfig, AgentError, SandboxExecutor, SandboxExecutorConfig, Shutdown,
};
use kiln_sandbox::Namespaces;
use kiln_store::{SystemClock, SystemEntropy};

use super::Context;
use super::server::{StopSignals, make_directory, runtime};
use crate::failure::{Exit, Failure};
use crate::log;

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    let settings = &context.settings;
    log::install(settings.need("log")?)?;
    let config = AgentConfig {
        server_url: settings.need("host")?.to_owned(),
        runner: settings.need("runner")?.to_owned(),
        key: settings.need("key")?.to_owned(),
        data_dir: PathBuf::from(settings.need("runner-data")?),
    };
    runtime()?.block_on(async {
        let mut stop = StopSignals::install()?;
        let agent = agent(&config)?;
        let shutdown = Shutdown::default();
        let running = tokio::spawn(agent.run(shutdown.clone()));
        let mut running = std::pin::pin!(running);
        loop {
            tokio::select! {
                ended = &mut running => return ended
                    .map_err(|error| Failure::unexpected("the agent broke").because(&error))?
                    .map(|()| Exit::Ok)
                    .map_err(|error| explain(&error)),
                () = stop.received() => ask_to_stop(context, &shutdown),
            }
        }
    })
}

/// An agent that executes in sandboxes on this host.
pub(super) fn agent(config: &AgentConfig) -> Result<Agent, Failure> {
    make_directory(&config.data_dir)?;
    let broke = |error: &dyn std::error::Error| {
        Failure::unexpected("this host cannot execute jobs").because(error)
    };
    kiln_sandbox::sweep().map_err(|error| broke(&error))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new());
    let executor = SandboxExecutor::open(
        SandboxExecutorConfig::new(config.data_dir.join("cache")),
        Box::new(Namespaces::new(Arc::clone(&clock))),
        reqwest::Client::builder()
            .build()
            .map_err(|error| broke(&error))?,
        Arc::clone(&clock),
    )
    .map_err(|error| broke(&error))?;
    Agent::new(config, Arc::new(executor), clock, Arc::new(SystemEntropy))
        .map_err(|error| explain(&error))
}

/// The first time: finish what is held. The second time: stop it.
fn ask_to_stop(context: &Context<'_>, shutdown: &Shutdown) {
    if shutdown.drain.is_cancelled() {
        shutdown.stop.cancel();
    } else {
        context
            .terminal
            .note("Finishing the job that is held, then stopping; once more to stop it now.");
        shutdown.drain.cancel();
    }
}

pub(super) fn explain(error: &AgentError) -> Failure {
    Failure::unexpected("the runner cannot go on").because(error)
}
