//! The registry that a command talks to.

use kiln_client::http_client;
use kiln_image::{Client, Credentials, Reference, RegistryUrl, RemoteError, RemoteErrorKind};
use tokio::runtime::Runtime;

use crate::commands::Context;
use crate::commands::connection::whereabouts;
use crate::commands::server::runtime;
use crate::failure::{Exit, Failure};

pub(super) struct Remote {
    pub(super) client: Client,
    pub(super) runtime: Runtime,
}

impl Remote {
    /// The registry of the server that the settings name, or that has the data directory open; unless the reference
    /// itself names a host.
    pub(super) fn of(context: &Context<'_>, reference: &Reference) -> Result<Self, Failure> {
        let runtime = runtime()?;
        let (registry, key) = if let Some(registry) = RegistryUrl::of(reference) {
            // The key is for our own server; another host is not to see it.
            (registry, None)
        } else {
            let (url, key) = whereabouts(context)?;
            let registry = url.parse::<RegistryUrl>().map_err(|error| {
                Failure::usage("that is no address of a server").because(&error)
            })?;
            (registry, key)
        };
        let credentials = key.map_or(Credentials::Anonymous, |password| Credentials::Basic {
            user: "kiln".to_owned(),
            password,
        });
        let http = http_client(|builder| builder)
            .map_err(|error| Failure::unexpected("no HTTP client can be made").because(&error))?;
        Ok(Self {
            client: Client::new(http, registry, credentials),
            runtime,
        })
    }
}

pub(super) fn reference(text: &str) -> Result<Reference, Failure> {
    text.parse::<Reference>().map_err(|error| {
        Failure::usage(format!("{text:?} is no image reference"))
            .because(&error)
            .hint("write PROJECT[/REPOSITORY][:TAG], for example demo:latest")
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "it is what `map_err` hands over"
)]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "all that is left is unexpected"
)]
pub(super) fn from_remote(error: RemoteError) -> Failure {
    let exit = match *error.kind {
        RemoteErrorKind::NotFound(_) => Exit::NotFound,
        RemoteErrorKind::Unauthorized(_) => Exit::Unauthorized,
        RemoteErrorKind::Unreachable(_) => Exit::Unreachable,
        _ => Exit::Unexpected,
    };
    let failure = Failure::new(exit, error.to_string());
    match std::error::Error::source(&error) {
        Some(source) => failure.because(source),
        None => failure,
    }
}
