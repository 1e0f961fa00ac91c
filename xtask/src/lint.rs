//! What can be said about the code without running it.

use crate::cargo::{cargo, has_subcommand, run as run_command};
use crate::failure::Failure;
use crate::report::{Done, Report};
use crate::tally::count;
use crate::tasks::no_arguments;

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    no_arguments(arguments)?;
    let mut report = Report::default();
    let result = steps(&mut report).and_then(|()| report.step("tidy", tidy));
    println!("{}", report.table());
    result
}

/// Formatting, clippy, cargo-deny. The tidy tests are tests, and run with them.
pub(crate) fn steps(report: &mut Report) -> Result<(), Failure> {
    report.step("fmt", || check(&["fmt", "--all", "--check"]))?;
    report.step("clippy", || {
        check(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ])
    })?;
    if has_subcommand("deny") {
        // Advisories are left out: they are fetched from the network.
        report.step("deny", || {
            check(&["deny", "--offline", "check", "bans", "licenses", "sources"])
        })
    } else {
        report.not_run(
            "deny",
            "cargo-deny is not installed; the tidy tests check licences and bans all the same",
        );
        Ok(())
    }
}

fn check(arguments: &[&str]) -> Result<Done, Failure> {
    run_command(&mut cargo(arguments)).map(|()| Done::default())
}

/// Selects the whole workspace, so that the few crates it needs are built with the features that the other steps use.
fn tidy() -> Result<Done, Failure> {
    let mut command = cargo(["test", "--workspace", "--bin", "xtask", "--quiet"]);
    let (success, tally) = count(&mut command)?;
    if !success && tally.failed == 0 {
        return Err(Failure::failed("the tidy tests could not be run"));
    }
    Ok(Done {
        tally,
        note: format!("{} checks", tally.passed),
    })
}
