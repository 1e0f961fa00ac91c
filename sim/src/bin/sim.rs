//! `sim`: runs seeds, and runs a seed again.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a developer's tool talks on its own terminal"
)]

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use kiln_model::Clock as _;
use kiln_sim::{Options, Outcome, run};
use kiln_store::SystemClock;

const USAGE: &str =
    "usage: sim [--seeds N] [--from S] [--verbose]\n       sim --replay SEED [--verbose]";

/// How many seeds pass between two looks at the terminal.
const PROGRESS: u64 = 10;

#[derive(Debug, PartialEq, Eq)]
struct Arguments {
    from: u64,
    seeds: u64,
    verbose: bool,
}

fn main() -> ExitCode {
    let arguments = match parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    let clock = SystemClock::new();
    let (mut steps, mut faults) = (0, 0);
    for done in 0..arguments.seeds {
        let options = Options {
            verbose: arguments.verbose,
            ..Options::default()
        };
        let outcome = run(arguments.from.wrapping_add(done), options);
        steps += outcome.steps;
        faults += outcome.faults;
        if !tell(&outcome, arguments.verbose) {
            return ExitCode::FAILURE;
        }
        progress(done + 1, arguments.seeds);
    }
    let millis = clock.monotonic().0.max(1).unsigned_abs();
    let rate = arguments.seeds.saturating_mul(1_000) / millis;
    println!(
        "{} seeds from {}, {steps} steps, {faults} faults, no broken promise ({rate} seeds/s)",
        arguments.seeds, arguments.from
    );
    ExitCode::SUCCESS
}

/// Shows a seed as far as it was asked for; tells whether it kept its promises.
fn tell(outcome: &Outcome, verbose: bool) -> bool {
    if let Some(failure) = outcome.describe() {
        clear_progress();
        eprintln!("{failure}");
        return false;
    }
    if verbose {
        println!("{}", outcome.trace.join("\n"));
        println!("seed {}: trace {:016x}", outcome.seed, outcome.hash);
    }
    true
}

fn progress(done: u64, all: u64) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() && (done.is_multiple_of(PROGRESS) || done == all) {
        if done == all {
            return clear_progress();
        }
        // A terminal that went away is no reason to stop.
        write!(terminal, "\r{done} of {all} seeds").ok();
        terminal.flush().ok();
    }
}

fn clear_progress() {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        write!(terminal, "\r\x1b[K").ok();
    }
}

/// `None` when only help is wanted.
fn parse(mut words: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let mut arguments = Arguments {
        from: 1,
        seeds: 1_000,
        verbose: false,
    };
    let mut replay = None;
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seeds" => arguments.seeds = number(&word, words.next())?,
            "--from" => arguments.from = number(&word, words.next())?,
            "--replay" => replay = Some(number(&word, words.next())?),
            "--verbose" | "-v" => arguments.verbose = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("there is no argument {word}")),
        }
    }
    if let Some(seed) = replay {
        arguments.from = seed;
        arguments.seeds = 1;
    }
    Ok(Some(arguments))
}

fn number(name: &str, value: Option<String>) -> Result<u64, String> {
    let value = value.ok_or_else(|| format!("{name} needs a number"))?;
    value
        .parse()
        .map_err(|_| format!("{name} needs a number, not {value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Option<Arguments>, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_replay_is_one_seed() {
        let arguments = read("--seeds 50 --replay 7 --verbose").unwrap().unwrap();
        assert_eq!((arguments.from, arguments.seeds), (7, 1));
        assert!(arguments.verbose);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for line in ["--seeds", "--seeds many", "--from -1", "7", "--nope"] {
            assert!(read(line).is_err(), "{line}");
        }
    }
}
