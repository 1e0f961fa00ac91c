//! Everything CI checks, in the order in which mistakes are cheap to find.

use std::env;
use std::io::IsTerminal;
use std::process::Command;

use crate::cargo::{cargo, root, run as run_command};
use crate::failure::Failure;
use crate::report::{Done, Report};
use crate::tally::{Tally, count};
use crate::tasks::only_flag;
use crate::{lint, setup};

/// How many seeds of the simulator a change must survive.
const SEEDS: &str = "1000";

pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let fast = only_flag(arguments, "--fast")?;
    let mut report = Report::default();
    let result = steps(&mut report, fast);
    println!("{}", report.table());
    // The closing line is the last one, so the reason goes before it.
    if let Err(Failure::Failed(message)) = &result {
        eprintln!("error: {message}\n");
    }
    println!("{}", report.closing_line());
    result.map_err(|_| Failure::Exited(1))
}

fn steps(report: &mut Report, fast: bool) -> Result<(), Failure> {
    report.step("setup", || setup::ensure().map(|()| Done::default()))?;
    lint::steps(report)?;
    // Whole and with all targets, so that the tests find the programs they start and nothing is built again for them.
    report.step("build", || {
        plain(&mut cargo(["build", "--workspace", "--all-targets"]))
    })?;
    // One process per crate: nextest's one per test would start a PostgreSQL for each.
    let mut command = cargo([
        "test",
        "--workspace",
        "--no-fail-fast",
        "--lib",
        "--bins",
        "--tests",
    ]);
    report.step("tests", || counted(&mut command))?;
    let mut command = cargo(["test", "--workspace", "--no-fail-fast", "--doc"]);
    report.step("doctests", || counted(&mut command))?;
    if fast {
        report.not_run("doc", "--fast");
        report.not_run("sim", "--fast");
        return Ok(());
    }
    report.step("doc", || {
        let mut command = cargo(["doc", "--workspace", "--no-deps"]);
        plain(command.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    report.step("sim", simulate)
}

fn plain(command: &mut Command) -> Result<Done, Failure> {
    run_command(command).map(|()| Done::default())
}

fn counted(command: &mut Command) -> Result<Done, Failure> {
    if std::io::stderr().is_terminal() {
        // Its output goes through us, so it cannot see the terminal itself.
        command.env("CARGO_TERM_COLOR", "always");
    }
    let (success, tally) = count(command)?;
    if !success && tally.failed == 0 {
        return Err(Failure::failed("the tests could not be run to their end"));
    }
    let Tally {
        passed,
        failed,
        skipped,
    } = tally;
    let note = format!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(Done { tally, note })
}

/// Runs the simulator that the build step has just built: it lies beside this program.
fn simulate() -> Result<Done, Failure> {
    let own_path = env::current_exe()
        .map_err(|error| Failure::failed(format!("cannot find this program: {error}")))?;
    let simulator = own_path.with_file_name("sim");
    if !simulator.exists() {
        return Err(Failure::failed("the package kiln-sim has no program `sim`"));
    }
    let mut command = Command::new(simulator);
    plain(command.args(["--seeds", SEEDS]).current_dir(root()))?;
    Ok(Done {
        note: format!("{SEEDS} seeds"),
        ..Done::default()
    })
}
