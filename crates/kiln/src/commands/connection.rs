//! The server that commands about people and projects talk to.

use std::future::Future;
use std::path::Path;

use kiln_client::{Client, Error};

use super::Context;
use super::profile::Profiles;
use super::server::runtime;
use super::target::{client, from_client, running};
use crate::failure::{Exit, Failure};

pub(super) struct Connection {
    pub(super) client: Client,
    runtime: tokio::runtime::Runtime,
}

impl Connection {
    /// A profile that was asked for; a host that was given; the profile in use; a server on this machine. A profile's key
    /// goes to the profile's server and nowhere else.
    pub(super) fn find(context: &Context<'_>) -> Result<Self, Failure> {
        let (runtime, settings) = (runtime()?, &context.settings);
        let profiles = Profiles::load()?;
        let asked = settings.get("profile");
        let chosen = match (asked, settings.get("host")) {
            (Some(name), _) => Some(profiles.find(name)?),
            (None, Some(_)) => None,
            (None, None) => profiles.in_use(),
        };
        let client = match (chosen, settings.get("host")) {
            (Some(profile), _) => client(&profile.host, Some(&profile.key))?,
            (None, Some(host)) => client(host, settings.get("key"))?,
            (None, None) => {
                let data = Path::new(settings.need("data")?);
                running(context, data, &runtime)?.ok_or_else(nowhere)?
            }
        };
        Ok(Self { client, runtime })
    }

    pub(super) fn call<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(from_client)
    }
}

fn nowhere() -> Failure {
    Failure::new(Exit::Usage, "no server was named, and none runs here").hint(
        "give --host and --key, set KILN_HOST and KILN_KEY, or remember both with `kiln profile add`",
    )
}

/// What a person typed, as the type it must be.
pub(super) fn parse<T>(text: &str) -> Result<T, Failure>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse()
        .map_err(|error: T::Err| Failure::usage(error.to_string()))
}
