//! Replacing this program by the one a server offers.

use std::os::unix::process::CommandExt as _;
use std::process::Command;

use kiln_runner::{Offer, Program, Standing, UpdateError};

use crate::commands::Context;
use crate::failure::Failure;

/// What this start means for a program on trial.
pub(super) fn start(program: &Program) -> Result<Standing, Failure> {
    program.start().map_err(|error| explain(&error))
}

/// Fetches, checks and swaps.
pub(super) async fn replace(program: &Program, offer: &Offer) -> Result<(), Failure> {
    tracing::info!(
        "replacing this program by version {} of {}",
        offer.version,
        offer.url
    );
    let http = reqwest::Client::new();
    let candidate = program
        .fetch(&http, offer)
        .await
        .map_err(|error| explain(&error))?;
    program.swap(candidate).map_err(|error| explain(&error))
}

/// Becomes the program that is installed now, with the same arguments. Returns only what went wrong.
pub(super) fn become_it(program: &Program) -> Failure {
    let error = Command::new(program.path())
        .args(std::env::args_os().skip(1))
        .exec();
    Failure::unexpected("the new program does not start").because(&error)
}

pub(super) fn confirm(context: &Context<'_>, program: &Program) {
    if let Err(error) = program.confirm() {
        context.terminal.warn(&format!(
            "what is left of an update cannot be removed: {error}"
        ));
    }
}

fn explain(error: &UpdateError) -> Failure {
    Failure::unexpected("this program cannot be replaced").because(error)
}
