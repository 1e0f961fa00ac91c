//! Logs go to stderr: for people on a terminal, as JSON lines elsewhere.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use crate::failure::Failure;

/// Installs the process's one subscriber. `filter` is the syntax of `RUST_LOG`: `info`, `kiln_server=debug,warn`.
pub(crate) fn install(filter: &str) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(filter).map_err(|error| {
        Failure::usage(format!("{filter:?} is not a log filter")).because(&error)
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let installed = if std::io::stderr().is_terminal() {
        builder.compact().try_init()
    } else {
        builder.json().try_init()
    };
    installed.map_err(|error| Failure::unexpected(format!("the log cannot be installed: {error}")))
}
