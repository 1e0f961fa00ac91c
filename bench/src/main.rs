#![doc = include_str!("../README.md")]

mod adapters;
mod arguments;
mod aside;
mod chamber;
mod failure;
mod fleet;
mod fsync;
mod kernel;
mod ledger;
mod machine;
mod microvm;
mod numbers;
mod registry;
mod report;
mod runner;
mod sample;
mod slow_fsync;
mod statistics;
mod steadiness;
mod stopwatch;
mod target;
mod unpack;
mod verdicts;
mod window;

use std::io::{self, Write};
use std::process::ExitCode;

use arguments::{Arguments, Subject};
use clap::Parser;
use failure::Failure;
use machine::{Load, Machine};
use report::Report;
use window::Window;

fn main() -> ExitCode {
    if steadiness::answer_if_asked() {
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::parse();
    let outcome = run(&arguments).and_then(|report| {
        write(&mut io::stdout().lock(), &arguments, &report)?;
        Ok(report)
    });
    match outcome {
        Ok(report) if arguments.check && report.misses_a_target() => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("error: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<Report, Failure> {
    if arguments.subject.includes(Subject::Chamber) {
        chamber::ensure()?;
    }
    slow_fsync::ensure(arguments.slow_fsync)?;
    let place = arguments.place()?;
    let window = Window::of_a_round(arguments.seconds);
    let (cores, load_before) = (machine::cores(), Load::now()?);
    let mut measurements = Vec::new();
    if arguments.subject.includes(Subject::Ledger) {
        measurements.push(ledger::measure(place.path(), window, &say)?);
    }
    if arguments.subject.includes(Subject::Kernel) {
        measurements.push(kernel::measure_memory(window, &say)?);
        measurements.push(kernel::measure_sqlite(place.path(), window, &say)?);
    }
    if arguments.subject.includes(Subject::Verdicts) {
        measurements.push(verdicts::measure(&say)?);
    }
    if arguments.subject.includes(Subject::Numbers) {
        measurements.push(numbers::measure(place.path(), &say)?);
    }
    if arguments.subject.includes(Subject::Adapters) {
        measurements.push(adapters::measure(window, &say)?);
    }
    if arguments.subject.includes(Subject::Registry) {
        measurements.extend(registry::measure(place.path(), &say)?);
    }
    if arguments.subject.includes(Subject::Fleet) {
        let parts = &arguments.parts;
        measurements.extend(fleet::measure(place.path(), parts, window, &say)?);
    }
    if arguments.subject.includes(Subject::Chamber) {
        measurements.push(chamber::measure(place.path(), window, &say)?);
    }
    if arguments.subject.includes(Subject::Runner) {
        measurements.push(runner::measure(place.path(), window, &say)?);
    }
    if arguments.subject.includes(Subject::Unpack) {
        measurements.push(unpack::measure(place.path(), &say)?);
    }
    if arguments.subject.includes(Subject::Microvm) {
        measurements.push(microvm::measure(place.path(), window, &say)?);
    }
    // Last: it keeps this process to one core.
    if arguments.subject.includes(Subject::Steadiness) {
        measurements.push(steadiness::measure(place.path(), &say)?);
    }
    Ok(Report {
        machine: Machine {
            cores,
            load_before,
            load_after: Load::now()?,
            slow_fsync_ms: arguments.slow_fsync,
        },
        seconds: arguments.seconds,
        rounds: window::ROUNDS,
        measurements,
    })
}

fn write(out: &mut impl Write, arguments: &Arguments, report: &Report) -> Result<(), Failure> {
    let text = if arguments.json {
        report.to_json()?
    } else {
        report.to_string()
    };
    match writeln!(out, "{text}") {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|source| Failure::io("write the report", source)),
    }
}

/// Progress and errors go beside the data.
fn say(line: &str) {
    // Nobody may be listening, and that is no reason to stop.
    writeln!(io::stderr().lock(), "{line}").ok();
}
