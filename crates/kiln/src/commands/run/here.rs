//! A command on this machine, as often as asked, and what came of it.

use std::path::Path;
use std::process::{Command, Stdio};

use kiln_model::{Clock, Millis};
use serde_json::{Map, Value, json};

use crate::cli::run::{Here, Reading};
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

/// More is no result of a benchmark; a server refuses far less.
const MAX_OUTPUT_BYTES: u64 = 64 << 20;
const MAX_FILES: usize = 255;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) results: Vec<String>,
    pub(super) start: Millis,
    pub(super) end: Millis,
}

/// Runs the command and takes its results: what it printed, or the files or figures that were asked for in place of that.
pub(super) fn run(
    terminal: &Terminal,
    clock: &dyn Clock,
    words: &[String],
    here: &Here,
    reading: &Reading,
) -> Result<Measured, Failure> {
    if here.file.len() > MAX_FILES || here.file_size.len() > MAX_FILES {
        return Err(Failure::usage(format!(
            "at most {MAX_FILES} files are read"
        )));
    }
    let start = clock.wall();
    let mut results = Vec::new();
    for iteration in 1..=reading.iter {
        let began = clock.monotonic();
        let printed = run_once(terminal, words, here, reading.allow_failure)
            .map_err(|failure| which(failure, iteration, reading.iter))?;
        let seconds = clock.monotonic().since(began).as_secs_f64();
        let figures = figures(words, here, seconds)?;
        if figures.is_none() && here.file.is_empty() {
            results.push(text("the output of the command", printed)?);
            continue;
        }
        results.extend(figures);
        for file in &here.file {
            results.push(read(file)?);
        }
    }
    Ok(Measured {
        results,
        start,
        end: clock.wall(),
    })
}

/// What somebody else measured.
pub(super) fn input(clock: &dyn Clock) -> Result<Measured, Failure> {
    let start = clock.wall();
    let mut bytes = Vec::new();
    bounded(std::io::stdin().lock(), |chunk| {
        bytes.extend_from_slice(chunk);
        Ok(())
    })?;
    Ok(Measured {
        results: vec![text("standard input", bytes)?],
        start,
        end: clock.wall(),
    })
}

fn run_once(
    terminal: &Terminal,
    words: &[String],
    here: &Here,
    allow_failure: bool,
) -> Result<Vec<u8>, Failure> {
    let mut command = command(words, here);
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(|error| {
        let program = command.get_program().to_string_lossy().into_owned();
        Failure::usage(format!("{program} cannot be run")).because(&error)
    })?;
    let stdout = child.stdout.take().expect("stdout is piped");
    let mut printed = Vec::new();
    let taken = bounded(stdout, |chunk| {
        terminal.pass_on(chunk);
        printed.extend_from_slice(chunk);
        Ok(())
    });
    if let Err(failure) = taken {
        // It would block on a pipe that nobody reads.
        let _ = child.kill();
        let _ = child.wait();
        return Err(failure);
    }
    let status = child.wait()?;
    if status.success() || allow_failure {
        return Ok(printed);
    }
    Err(
        Failure::new(Exit::JobFailed, format!("the command failed: {status}"))
            .hint("--allow-failure reports what was measured all the same"),
    )
}

fn which(mut failure: Failure, iteration: u32, of: u32) -> Failure {
    if of > 1 {
        failure.message = format!("iteration {iteration} of {of}: {}", failure.message);
    }
    failure
}

fn command(words: &[String], here: &Here) -> Command {
    match words {
        [line] if !here.exec => {
            let mut command = Command::new(&here.shell);
            command.arg(&here.flag).arg(line);
            command
        }
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        [] => Command::new(&here.shell),
    }
}

/// How long it took and how large its files are, as one document, if that was asked for.
fn figures(words: &[String], here: &Here, seconds: f64) -> Result<Option<String>, Failure> {
    if !here.build_time && here.file_size.is_empty() {
        return Ok(None);
    }
    let mut benchmarks = Map::new();
    if here.build_time {
        let figure = json!({"build-time": {"value": seconds}});
        benchmarks.insert(words.join(" "), figure);
    }
    for file in &here.file_size {
        let size = std::fs::metadata(file).map_err(|error| unreadable(file, &error))?;
        let figure = json!({"file-size": {"value": size.len()}});
        benchmarks.insert(file.clone(), figure);
    }
    Ok(Some(Value::Object(benchmarks).to_string()))
}

fn read(file: &str) -> Result<String, Failure> {
    let opened = std::fs::File::open(Path::new(file)).map_err(|error| unreadable(file, &error))?;
    let mut bytes = Vec::new();
    bounded(opened, |chunk| {
        bytes.extend_from_slice(chunk);
        Ok(())
    })?;
    text(file, bytes)
}

fn unreadable(file: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::JobFailed, format!("{file} cannot be read"))
        .because(error)
        .hint("the command is to write it, in the directory that kiln runs in")
}

fn text(what: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Failure::new(
            Exit::JobFailed,
            format!("{what} is not UTF-8 from byte {place} on"),
        )
        .hint("let the benchmark print text, or its results to a file and name that with --file")
    })
}

fn bounded(
    mut source: impl std::io::Read,
    mut take: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut chunk = [0; 16 << 10];
    let mut seen = 0;
    loop {
        let count = source.by_ref().read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        seen += count as u64;
        if seen > MAX_OUTPUT_BYTES {
            return Err(Failure::new(
                Exit::JobFailed,
                format!("there are more than {MAX_OUTPUT_BYTES} bytes of results"),
            ));
        }
        take(&chunk[..count])?;
    }
}

#[cfg(test)]
mod tests;
