//! Where operator commands go: to a running server over HTTP, or to the store itself when none runs.

use std::fs;
use std::path::Path;

use kiln_client::{Client, Error};
use kiln_store::Store;

use super::Context;
use super::server::{Plan, runtime, use_ring};
use crate::cli::Target;
use crate::failure::{Exit, Failure};

/// What answers.
pub(super) enum Answerer {
    Server(Client, tokio::runtime::Runtime),
    Store(Store),
}

impl Answerer {
    pub(super) fn find(context: &Context<'_>) -> Result<Self, Failure> {
        let runtime = runtime()?;
        if let Some(host) = context.settings.get("host") {
            let client = client(host, context.settings.get("key"))?;
            return Ok(Self::Server(client, runtime));
        }
        let plan = Plan::new(context)?;
        if let Some(client) = running(context, &plan.data, &runtime)? {
            return Ok(Self::Server(client, runtime));
        }
        if !plan.data.is_dir() {
            return Err(Failure::new(
                Exit::NotFound,
                format!("there is no data directory {}", plan.data.display()),
            )
            .hint("name it with --data, or a running server with --host"));
        }
        let store = Store::open(&plan.store()).map_err(|error| {
            Failure::unexpected(format!(
                "the store in {} cannot be opened",
                plan.data.display()
            ))
            .because(&error)
        })?;
        Ok(Self::Store(store))
    }
}

impl Drop for Answerer {
    fn drop(&mut self) {
        if let Self::Store(store) = self {
            store.close();
        }
    }
}

/// `kiln admin key`.
pub(super) fn new_admin_key(context: &Context<'_>, target: &Target) -> Result<Exit, Failure> {
    let key = match Answerer::find(context)? {
        Answerer::Server(ref client, ref runtime) => {
            runtime
                .block_on(client.create_admin_key())
                .map_err(from_client)?
                .key
        }
        Answerer::Store(ref store) => kiln_server::make_admin_key(
            store,
            &kiln_store::SystemClock::new(),
            &kiln_store::SystemEntropy,
        )
        .map_err(|error| Failure::unexpected("no key was made").because(&error))?,
    };
    if target.json.json {
        context
            .terminal
            .json(&kiln_model::operator::NewKey { key })?;
    } else {
        context.terminal.data(&key)?;
    }
    Ok(Exit::Ok)
}

/// The server that has this data directory open, if one answers.
pub(super) fn running(
    context: &Context<'_>,
    data: &Path,
    runtime: &tokio::runtime::Runtime,
) -> Result<Option<Client>, Failure> {
    let Ok(address) = fs::read_to_string(data.join("address")) else {
        return Ok(None);
    };
    let stored = fs::read_to_string(data.join("admin.key")).ok();
    let key = context
        .settings
        .get("key")
        .or_else(|| stored.as_deref().map(str::trim));
    let client = client(&format!("http://{}", address.trim()), key)?;
    Ok(runtime
        .block_on(client.check_health())
        .is_ok()
        .then_some(client))
}

pub(super) fn client(host: &str, key: Option<&str>) -> Result<Client, Failure> {
    use_ring();
    Client::new(host, key).map_err(from_client)
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
#[expect(clippy::wildcard_enum_match_arm, reason = "the enum is non-exhaustive")]
pub(super) fn from_client(error: Error) -> Failure {
    let (exit, hint) = match &error {
        Error::Unreachable { .. } => (
            Exit::Unreachable,
            Some("is the server running, and is --host its address?"),
        ),
        Error::Unauthorized(_) => (
            Exit::Unauthorized,
            Some("give a valid key with --key or KILN_KEY"),
        ),
        Error::NotFound(_) => (Exit::NotFound, None),
        Error::Conflict(_) => (Exit::Conflict, None),
        Error::Address(_) | Error::Key | Error::Name(_) | Error::Invalid(_) => (Exit::Usage, None),
        // The client may learn to tell more apart; until it is listed here, that is unexpected.
        _ => (Exit::Unexpected, None),
    };
    let mut failure = Failure::new(exit, error.to_string());
    if let Some(source) = std::error::Error::source(&error) {
        failure = failure.because(source);
    }
    match hint {
        Some(hint) if failure.hint.is_none() => failure.hint(hint),
        _ => failure,
    }
}
