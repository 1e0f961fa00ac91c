//! The steps of a task as they happen, and the table at the end.

use std::fmt::Write;
use std::time::Duration;

use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::tally::Tally;

#[derive(Debug, Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    tally: Tally,
}

/// What a step that was not wrong says about itself.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) tally: Tally,
    /// Stands in the table, behind the time.
    pub(crate) note: String,
}

#[derive(Debug)]
struct Row {
    name: &'static str,
    outcome: &'static str,
    took: Duration,
    note: String,
}

impl Report {
    /// Runs a step. Its failure is shown, noted and handed back, so that `?` ends the task.
    pub(crate) fn step(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> Result<Done, Failure>,
    ) -> Result<(), Failure> {
        eprintln!("\n--- {name}");
        let stopwatch = Stopwatch::start();
        let result = work();
        let took = stopwatch.elapsed();
        let (tally, note, result) = match result {
            Ok(Done { tally, note }) if tally.failed == 0 => (tally, note, Ok(())),
            Ok(Done { tally, note }) => {
                let message = format!("{name}: {} failed", tally.failed);
                (tally, note, Err(Failure::Failed(message)))
            }
            // It failed as a whole, which is one failure, lest the closing line look as if nothing was wrong.
            Err(failure) => {
                let failed = Tally {
                    failed: 1,
                    ..Tally::default()
                };
                (failed, String::new(), Err(failure))
            }
        };
        self.tally += tally;
        self.rows.push(Row {
            name,
            outcome: if result.is_ok() { "ok" } else { "FAILED" },
            took,
            note,
        });
        result
    }

    /// Notes a step that this machine cannot do, so that nobody takes it for done.
    pub(crate) fn not_run(&mut self, name: &'static str, why: &str) {
        eprintln!("\n--- {name}\nnot run: {why}");
        self.rows.push(Row {
            name,
            outcome: "not run",
            took: Duration::ZERO,
            note: why.to_owned(),
        });
    }

    pub(crate) fn table(&self) -> String {
        let mut table = format!("\n{:<10} {:<8} {:>9}\n", "step", "result", "seconds");
        for row in &self.rows {
            let seconds = row.took.as_secs_f64();
            let line = format!(
                "{:<10} {:<8} {seconds:>9.1}  {}",
                row.name, row.outcome, row.note
            );
            writeln!(table, "{}", line.trim_end()).expect("writing to a string does not fail");
        }
        table
    }

    /// The line that says it all.
    pub(crate) fn closing_line(&self) -> String {
        format!("{} passed, {} failed", self.tally.passed, self.tally.failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(passed: u64, failed: u64) -> Done {
        let tally = Tally {
            passed,
            failed,
            skipped: 0,
        };
        Done {
            tally,
            note: "noted".into(),
        }
    }

    #[test]
    fn the_closing_line_adds_up_the_steps() {
        let mut report = Report::default();
        report.step("tests", || Ok(done(3, 0))).unwrap();
        report.step("doctests", || Ok(done(2, 0))).unwrap();
        assert_eq!(report.closing_line(), "5 passed, 0 failed");
    }

    #[test]
    fn failed_tests_fail_the_step() {
        let mut report = Report::default();
        report.step("tests", || Ok(done(3, 2))).unwrap_err();
        assert_eq!(report.closing_line(), "3 passed, 2 failed");
    }

    #[test]
    fn a_step_that_fails_without_tests_counts_as_one_failure() {
        let mut report = Report::default();
        let step = report.step("clippy", || Err(Failure::failed("no")));
        step.unwrap_err();
        assert_eq!(report.closing_line(), "0 passed, 1 failed");
    }

    #[test]
    fn the_table_has_a_row_for_each_step() {
        let mut report = Report::default();
        report.step("tests", || Ok(done(1, 0))).unwrap();
        report
            .step("doc", || Err(Failure::failed("no")))
            .unwrap_err();
        report.not_run("deny", "not installed");
        let table = report.table();
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(2)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[0][..2], ["tests", "ok"]);
        assert_eq!(rows[1][..2], ["doc", "FAILED"]);
        assert_eq!(rows[2][..3], ["deny", "not", "run"]);
    }
}
