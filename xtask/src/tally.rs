//! Counting tests from what `cargo test` prints at the end of each binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::ops::AddAssign;
use std::process::{Command, Stdio};
use std::thread;

use crate::cargo::show;
use crate::failure::Failure;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

/// Runs a test runner, shows what it prints, and counts. An error is a runner that could not be run; a failed run is not.
pub(crate) fn count(command: &mut Command) -> Result<(bool, Tally), Failure> {
    let shown = show(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::failed(format!("cannot run {shown}: {error}")))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let errors = scope.spawn(|| copy(stderr, std::io::stderr()));
        tally += copy(stdout, std::io::stdout());
        tally += errors.join().expect("copying lines does not panic");
    });
    let status = child
        .wait()
        .map_err(|error| Failure::failed(format!("lost sight of {shown}: {error}")))?;
    Ok((status.success(), tally))
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

/// Passes lines on while it counts. A terminal that has gone away does not stop the tests.
fn copy(from: Option<impl Read>, mut to: impl Write) -> Tally {
    let mut tally = Tally::default();
    let Some(from) = from else { return tally };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
        _ = to.write_all(&line).and_then(|()| to.flush());
        tally += summary(&without_colour(&String::from_utf8_lossy(&line)));
        line.clear();
    }
    tally
}

/// What a line adds: nothing, unless it is a summary.
fn summary(line: &str) -> Tally {
    let counts = line
        .trim()
        .strip_prefix("test result: ")
        .and_then(|rest| rest.split_once(". "))
        .map(|(_, counts)| counts);
    let mut tally = Tally::default();
    for part in counts.unwrap_or_default().split(';') {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let number = number.parse().unwrap_or(0);
        match what {
            "passed" => tally.passed += number,
            "failed" => tally.failed += number,
            "ignored" => tally.skipped += number,
            _ => {}
        }
    }
    tally
}

/// Drops the escape sequences that set colours.
fn without_colour(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain.push_str(part.split_once('m').map_or("", |(_, text)| text));
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, passed: u64, failed: u64, skipped: u64) {
        let expected = Tally {
            passed,
            failed,
            skipped,
        };
        assert_eq!(summary(&without_colour(line)), expected, "{line}");
    }

    #[test]
    fn summaries_are_counted() {
        let line = "test result: FAILED. 1 passed; 2 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.20s";
        check(line, 1, 2, 3);
    }

    #[test]
    fn colours_do_not_hide_the_numbers() {
        let line = "test result: \u{1b}[32mok\u{1b}[0m. 7 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        check(line, 7, 0, 0);
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "running 3 tests",
            "12 passed, 3 failed",
            "error: test run failed",
        ] {
            check(line, 0, 0, 0);
        }
    }
}
