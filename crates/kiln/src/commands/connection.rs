//! The server that commands talk to.

use std::fs;
use std::future::Future;
use std::path::Path;

use kiln_client::{Client, Error};

use super::Context;
use super::profile::Profiles;
use super::server::runtime;
use super::target::{client, from_client};
use crate::failure::{Exit, Failure};

pub(super) struct Connection {
    pub(super) client: Client,
    pub(super) runtime: tokio::runtime::Runtime,
}

impl Connection {
    pub(super) fn find(context: &Context<'_>) -> Result<Self, Failure> {
        let (host, key) = whereabouts(context)?;
        Ok(Self {
            client: client(&host, key.as_deref())?,
            runtime: runtime()?,
        })
    }

    pub(super) fn call<T>(
        &self,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        self.runtime.block_on(call).map_err(from_client)
    }
}

/// Where the server is, and the key for it: a profile that was asked for; a host that was given; the profile in use; a
/// server on this machine. A profile's key goes to the profile's server and nowhere else.
pub(super) fn whereabouts(context: &Context<'_>) -> Result<(String, Option<String>), Failure> {
    let settings = &context.settings;
    let given = || settings.get("key").map(str::to_owned);
    let profiles = Profiles::load()?;
    let profile = match (settings.get("profile"), settings.get("host")) {
        (Some(name), _) => Some(profiles.find(name)?),
        (None, Some(host)) => return Ok((host.to_owned(), given())),
        (None, None) => profiles.in_use(),
    };
    if let Some(profile) = profile {
        return Ok((profile.host.clone(), Some(profile.key.clone())));
    }
    let data = Path::new(settings.need("data")?);
    let address = fs::read_to_string(data.join("address")).map_err(|_| nowhere())?;
    let stored = || fs::read_to_string(data.join("admin.key")).ok();
    let key = given().or_else(|| stored().map(|key| key.trim().to_owned()));
    Ok((format!("http://{}", address.trim()), key))
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
