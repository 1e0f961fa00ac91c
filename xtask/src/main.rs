#![doc = include_str!("../README.md")]
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks on its own terminal"
)]

mod cargo;
mod failure;
mod forward;
mod fuzz;
mod lint;
mod report;
mod schemathesis;
mod setup;
mod stopwatch;
mod tally;
mod tasks;
mod test;
#[cfg(test)]
mod tidy;

use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match tasks::run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            eprintln!("error: {message}\nhint: cargo xtask --help");
            ExitCode::from(2)
        }
        Err(Failure::Failed(message)) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
        Err(Failure::Exited(code)) => ExitCode::from(code),
    }
}
