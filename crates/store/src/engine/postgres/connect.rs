//! Connecting, and what to tell the person who started a server that cannot.

use std::time::Duration;

use postgres::config::Host;
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};

use super::describe;
use crate::Error;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A peer that acknowledges nothing for this long is gone.
const SILENCE: Duration = Duration::from_secs(30);

/// Settings that a server's defaults must not weaken. A lock that is not free after ten seconds is a conflict.
const SETTINGS: &str = "
    SET client_min_messages = warning;
    SET lock_timeout = '10s';
    SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'";

/// Opens a connection as Kiln wants it. Not for async code: the driver blocks.
pub(crate) fn connect(config: &Config) -> Result<Client, postgres::Error> {
    let mut config = config.clone();
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(SILENCE);
    }
    if config.get_application_name().is_none() {
        config.application_name("kiln");
    }
    let mut client = config.connect(NoTls)?;
    client.batch_execute(SETTINGS)?;
    Ok(client)
}

/// One line that says what to do, without the password.
pub(crate) fn refuse(config: &Config, failure: &postgres::Error) -> Error {
    let place = place(config);
    let user = config.get_user().unwrap_or("the current user");
    let database = config.get_dbname().unwrap_or(user);
    Error::Refused(match failure.code() {
        Some(code)
            if *code == SqlState::INVALID_PASSWORD
                || *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION =>
        {
            format!(
                "PostgreSQL at {place} refused the password or the name of {user}; check both in the database URL"
            )
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => {
            format!(
                "PostgreSQL at {place} has no database {database}; create it with: createdb {database}"
            )
        }
        Some(_) => format!("PostgreSQL at {place} refused: {}", describe(failure)),
        None => format!(
            "PostgreSQL at {place} cannot be reached ({}); check that it runs and that the database URL is right",
            describe(failure)
        ),
    })
}

/// How to call the database when talking to a person.
pub(crate) fn place(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(path)) => path.display().to_string(),
        None => "localhost".into(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    format!("{host}:{port}")
}
