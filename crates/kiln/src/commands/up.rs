//! `kiln up`: a server with a local runner, in one process.

use kiln_client::Client;
use kiln_model::v0::{Architecture, NewRunner, NewSpec, OperatingSystem};
use kiln_runner::{AgentConfig, QuietHost, Shutdown};
use kiln_server::Server;

use super::server::{Plan, StopSignals, runtime, start, until_told};
use super::target::from_client;
use super::{Context, runner};
use crate::failure::{Exit, Failure};
use crate::log;

/// The names of what `up` makes when it is not there.
const NAME: &str = "local";

pub(super) fn run(context: &Context<'_>) -> Result<Exit, Failure> {
    log::install(context.settings.need("log")?)?;
    let plan = Plan::new(context)?;
    let slots = runner::slots(context)?;
    runtime()?.block_on(async {
        let mut stop = StopSignals::install()?;
        let server = start(context, &plan).await?;
        let ended = with_runner(context, &plan, slots, &server, &mut stop).await;
        server.stop().await;
        ended
    })
}

/// Runs the local runner of a server until somebody wants to stop.
async fn with_runner(
    context: &Context<'_>,
    plan: &Plan,
    slots: u32,
    server: &Server,
    stop: &mut StopSignals,
) -> Result<Exit, Failure> {
    let admin = std::fs::read_to_string(plan.data.join("admin.key")).map_err(|error| {
        Failure::usage("admin.key is not in the data directory")
            .because(&error)
            .hint("make one with `kiln admin key` and write it there, or use `kiln server` and `kiln runner up`")
    })?;
    let server_url = format!("http://{}", server.address());
    let client = Client::new(&server_url, Some(admin.trim())).map_err(from_client)?;
    let config = AgentConfig {
        key: local_runner(&client).await?,
        server_url,
        runner: NAME.to_owned(),
        data_dir: plan.data.join("runner"),
    };
    let backend = runner::backend::chosen(context, &config.data_dir)?;
    let agents = runner::agents(
        &config,
        slots,
        runner::accepted(context)?,
        QuietHost::untouched(),
        backend,
    )?;
    let shutdown = Shutdown::default();
    let agents = tokio::spawn(agents.run(shutdown.clone()));
    let ended = until_told(server, stop).await;
    shutdown.drain.cancel();
    shutdown.stop.cancel();
    let terminal = context.terminal;
    match agents.await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => terminal.warn(&format!("the runner ended badly: {error}")),
        Err(error) => terminal.warn(&format!("the runner broke: {error}")),
    }
    ended
}

/// Makes the spec and the runner of this machine if they are not there, and answers the runner's key, which is new each
/// time: nothing else needs to keep it.
pub(super) async fn local_runner(client: &Client) -> Result<String, Failure> {
    match client.get_spec(NAME).await {
        Ok(_) => {}
        Err(kiln_client::Error::NotFound(_)) => {
            client
                .create_spec(&this_machine()?)
                .await
                .map_err(from_client)?;
        }
        Err(error) => return Err(from_client(error)),
    }
    let key = match client.get_runner(NAME).await {
        Ok(_) => {
            client
                .rotate_runner_key(NAME)
                .await
                .map_err(from_client)?
                .key
        }
        Err(kiln_client::Error::NotFound(_)) => {
            let new = NewRunner {
                name: parse(NAME)?,
                slug: None,
            };
            client.create_runner(&new).await.map_err(from_client)?.key
        }
        Err(error) => return Err(from_client(error)),
    };
    match client.link_spec(NAME, NAME).await {
        Ok(_) | Err(kiln_client::Error::Conflict(_)) => Ok(key),
        Err(error) => Err(from_client(error)),
    }
}

/// One core of this machine, and a share of the rest that leaves room for the host.
fn this_machine() -> Result<NewSpec, Failure> {
    Ok(NewSpec {
        name: parse(NAME)?,
        slug: None,
        os: OperatingSystem::Linux,
        architecture: if cfg!(target_arch = "aarch64") {
            Architecture::Aarch64
        } else {
            Architecture::X86_64
        },
        sandbox: None,
        cpu: 1,
        memory: 512 << 20,
        disk: 512 << 20,
        network: false,
        shared: false,
        isolation: None,
        fallback: true,
    })
}

fn parse<T: std::str::FromStr>(text: &str) -> Result<T, Failure>
where
    T::Err: std::error::Error,
{
    text.parse()
        .map_err(|error: T::Err| Failure::unexpected("a name of our own is wrong").because(&error))
}
