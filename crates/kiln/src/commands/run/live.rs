//! What a job writes, shown beside the report while the job runs.

use kiln_model::JobUuid;
use kiln_model::v0::{JobOutput, LiveText};

use crate::commands::logs::Printed;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// What more iterations than these write is not shown.
const MAX_SHOWN: usize = 10;

#[derive(Debug)]
pub(super) struct Live<'a> {
    terminal: &'a Terminal,
    project: &'a str,
    job: JobUuid,
    printed: Printed<'a>,
    has_hidden: bool,
}

impl<'a> Live<'a> {
    pub(super) const fn new(terminal: &'a Terminal, project: &'a str, job: JobUuid) -> Self {
        Self {
            terminal,
            project,
            job,
            printed: Printed::aside(terminal),
            has_hidden: false,
        }
    }

    /// A piece, as it is written.
    pub(super) fn see(&mut self, text: &LiveText) -> Result<(), Failure> {
        let (job, iteration) = (self.job, text.iteration);
        if iteration > 0 {
            let what = format!("job {job} is running, iteration {iteration}");
            self.terminal.progress(&what);
        }
        if usize::try_from(iteration).is_ok_and(|iteration| iteration < MAX_SHOWN) {
            return self.printed.print(text);
        }
        self.has_hidden = true;
        Ok(())
    }

    /// What follows stands in a line of its own.
    pub(super) fn end_line(&mut self) {
        self.printed.end_line();
    }

    /// At the end: what was not shown yet, and where to find what will not be.
    pub(super) fn finish(&mut self, output: &JobOutput) -> Result<(), Failure> {
        let count = output.results.len();
        self.printed.print_rest(output, MAX_SHOWN)?;
        self.printed.end_line();
        if self.has_hidden || count > MAX_SHOWN || output.large.is_some() {
            let (job, project) = (self.job, self.project);
            self.terminal.note(&format!(
                "it wrote more than this: `kiln job logs {job} --project {project}`"
            ));
        }
        Ok(())
    }
}
