//! Counting tests from what the runners print at the end.

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

#[derive(Clone, Copy, Debug)]
pub(crate) enum Runner {
    /// `cargo nextest`: one summary for everything.
    Nextest,
    /// `cargo test`: one summary for each binary.
    Libtest,
}

/// Runs a test runner, shows what it prints, and counts. An error is a runner that could not be run; a failed run is not.
pub(crate) fn count(command: &mut Command, runner: Runner) -> Result<(bool, Tally), Failure> {
    let shown = show(command);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| Failure::failed(format!("cannot run {shown}: {error}")))?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let mut tally = Tally::default();
    thread::scope(|scope| {
        let errors = scope.spawn(|| copy(stderr, std::io::stderr(), runner));
        tally += copy(stdout, std::io::stdout(), runner);
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
fn copy(from: Option<impl Read>, mut to: impl Write, runner: Runner) -> Tally {
    let mut tally = Tally::default();
    let Some(from) = from else { return tally };
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    while matches!(from.read_until(b'\n', &mut line), Ok(1..)) {
        _ = to.write_all(&line).and_then(|()| to.flush());
        tally += summary(&without_colour(&String::from_utf8_lossy(&line)), runner);
        line.clear();
    }
    tally
}

/// What a line adds: nothing, unless it is a runner's summary. Each runner has its own form, because nextest shows the output of
/// failed tests, summaries of libtest included.
fn summary(line: &str, runner: Runner) -> Tally {
    let line = line.trim();
    let counts = match runner {
        Runner::Nextest if line.starts_with("Summary [") => {
            line.split_once(" run: ").map(|(_, counts)| counts)
        }
        Runner::Libtest => line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
            .map(|(_, counts)| counts),
        Runner::Nextest => None,
    };
    let mut tally = Tally::default();
    for part in counts.unwrap_or_default().split([',', ';']) {
        let Some((number, what)) = part.trim().split_once(' ') else {
            continue;
        };
        let number = number.parse().unwrap_or(0);
        let what = what.split(" (").next().unwrap_or_default();
        match what {
            "passed" => tally.passed += number,
            "failed" | "exec failed" | "timed out" => tally.failed += number,
            "skipped" | "ignored" => tally.skipped += number,
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

    fn check(runner: Runner, line: &str, passed: u64, failed: u64, skipped: u64) {
        let expected = Tally {
            passed,
            failed,
            skipped,
        };
        assert_eq!(summary(&without_colour(line), runner), expected, "{line}");
    }

    #[test]
    fn nextest_is_counted() {
        for (line, passed, failed, skipped) in [
            (
                "     Summary [   0.131s] 2 tests run: 2 passed, 0 skipped",
                2,
                0,
                0,
            ),
            (
                " Summary [ 1.0s] 9 tests run: 4 passed (1 slow, 1 flaky), 2 failed, 1 exec failed, 2 timed out, 3 skipped",
                4,
                5,
                3,
            ),
            (
                "     Summary [   0.001s] 1 test run: 1 passed, 0 skipped",
                1,
                0,
                0,
            ),
            (
                "     Summary [   0.001s] 3/5 tests run: 2 passed, 1 failed, 0 skipped",
                2,
                1,
                0,
            ),
        ] {
            check(Runner::Nextest, line, passed, failed, skipped);
        }
    }

    #[test]
    fn colours_do_not_hide_the_numbers() {
        let line = "\u{1b}[31;1m     Summary\u{1b}[0m [   0.131s] \u{1b}[1m2\u{1b}[0m tests run: \u{1b}[1m1\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m1\u{1b}[0m \u{1b}[31;1mfailed\u{1b}[0m";
        check(Runner::Nextest, line, 1, 1, 0);
    }

    #[test]
    fn libtest_is_counted() {
        let line = "test result: FAILED. 1 passed; 2 failed; 3 ignored; 0 measured; 4 filtered out; finished in 0.20s";
        check(Runner::Libtest, line, 1, 2, 3);
    }

    #[test]
    fn a_failed_tests_own_output_is_not_counted_again() {
        let line = "    test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured";
        check(Runner::Nextest, line, 0, 0, 0);
    }

    #[test]
    fn other_lines_count_nothing() {
        for line in [
            "",
            "running 3 tests",
            "12 passed, 3 failed",
            "error: test run failed",
        ] {
            check(Runner::Nextest, line, 0, 0, 0);
            check(Runner::Libtest, line, 0, 0, 0);
        }
    }
}
