//! Replacing this program by the one a server offers.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use kiln_client::http_client;
use kiln_runner::{Offer, Program, Standing, UpdateError};
use kiln_sandbox::quiet::{pin_this_thread, usable_cores};

use crate::commands::Context;
use crate::failure::Failure;

/// How long a new program may take to reach its server.
const TRIAL: Duration = Duration::from_mins(5);

/// Whether these words start a runner that may replace itself.
pub(in crate::commands) fn is_runner(words: &[OsString]) -> bool {
    words.windows(2).any(|pair| pair == ["runner", "up"])
}

/// Counts this start if the program is on trial: before anything that a new program could fail at. One that has started too
/// often, or does not reach its server in time, gives its place back to the old one. A second call does nothing.
pub(in crate::commands) fn count_start() -> Result<(), Failure> {
    static COUNTED: AtomicBool = AtomicBool::new(false);
    if COUNTED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let program = Program::current()?;
    match program.start().map_err(|error| explain(&error))? {
        Standing::Settled => Ok(()),
        Standing::RolledBack => Err(become_it(&program)),
        Standing::OnTrial => {
            let cores = usable_cores()?;
            let watch = std::thread::Builder::new().name("trial".to_owned());
            watch.spawn(move || {
                end_trial_after(&program, TRIAL, |program| {
                    // The old program would take what this one kept to for all there is; it can do with that.
                    let _ = pin_this_thread(&cores);
                    become_it(program)
                });
            })?;
            Ok(())
        }
    }
}

/// Waits, then ends the trial. A program that hangs does so anywhere, so this is for a thread of its own.
fn end_trial_after(program: &Program, span: Duration, go_on: impl FnOnce(&Program) -> Failure) {
    // Nobody sends anything: this is how long the trial lasts.
    let (_keep, nothing) = mpsc::channel::<()>();
    let _ = nothing.recv_timeout(span);
    let failure = match program.end_trial() {
        Ok(false) => return,
        Ok(true) => go_on(program),
        Err(error) => explain(&error),
    };
    tracing::error!("a program on trial did not reach its server: {failure}");
}

/// Fetches, checks and swaps.
pub(super) async fn replace(program: &Program, offer: &Offer) -> Result<(), UpdateError> {
    tracing::info!(
        "replacing this program by version {} of {}",
        offer.version,
        offer.url
    );
    let http = http_client(|builder| builder).map_err(|source| UpdateError::Fetch {
        url: offer.url.clone(),
        source,
    })?;
    let candidate = program.fetch(&http, offer).await?;
    program.swap(candidate)
}

/// The runner goes on as it is.
pub(super) fn warn(context: &Context<'_>, offer: &Offer, error: &UpdateError) {
    let causes = explain(error).causes.join(": ");
    context.terminal.warn(&format!(
        "this program cannot be replaced by version {}: {causes}",
        offer.version
    ));
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    /// A new program that has taken the place of an old one.
    fn on_trial(directory: &Path) -> Program {
        let file = |name: &str, text: &str| fs::write(directory.join(name), text).unwrap();
        file("kiln", "new");
        file("kiln.old", "old");
        file("kiln.trial", "1");
        Program::at(directory.join("kiln"))
    }

    #[test]
    fn a_program_that_does_not_reach_its_server_in_time_is_rolled_back() {
        let directory = tempfile::tempdir().unwrap();
        let program = on_trial(directory.path());
        let mut became = None::<PathBuf>;
        end_trial_after(&program, Duration::ZERO, |program| {
            became = Some(program.path().to_owned());
            Failure::unexpected("a test does not become another program")
        });
        assert_eq!(became.as_deref(), Some(program.path()));
        assert_eq!(fs::read_to_string(program.path()).unwrap(), "old");
    }

    #[test]
    fn a_program_that_has_reached_its_server_stays() {
        let directory = tempfile::tempdir().unwrap();
        let program = on_trial(directory.path());
        program.confirm().unwrap();
        end_trial_after(&program, Duration::ZERO, |_| {
            unreachable!("it has proved itself")
        });
        assert_eq!(fs::read_to_string(program.path()).unwrap(), "new");
    }

    #[test]
    fn starts_of_runners_are_told_from_others_by_their_words() {
        let is_one = |words: &[&str]| {
            let words: Vec<OsString> = words.iter().map(OsString::from).collect();
            is_runner(&words)
        };
        assert!(is_one(&[
            "kiln", "--log", "debug", "runner", "up", "--key", "k"
        ]));
        assert!(!is_one(&["kiln", "runner", "run", "--image", "up"]));
        assert!(!is_one(&["kiln", "up"]));
    }
}
