//! What the demo tells at its end.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_insight::plot::{self, Chart, XAxis};
use kiln_model::v0::{CompareReport, Job, JobEvent, Perf, Report};
use kiln_model::{Clock, Millis};
use serde::Serialize;

use crate::commands::chart::{Across, chart};
use crate::commands::{compare, perf};
use crate::failure::Failure;
use crate::terminal::Terminal;

/// The picture beside what `--keep` keeps.
const PICTURE: &str = "plot.svg";
const COLUMNS: usize = 80;

/// The stages of the demo and how long each took.
#[derive(Debug)]
pub(super) struct Stages {
    clock: Arc<dyn Clock>,
    last: Millis,
    done: Vec<Stage>,
}

#[derive(Debug, Serialize)]
pub(super) struct Stage {
    name: &'static str,
    ms: u64,
}

impl Stages {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        let last = clock.monotonic();
        Self {
            clock,
            last,
            done: Vec::new(),
        }
    }

    pub(super) fn done(&mut self, name: &'static str) {
        let now = self.clock.monotonic();
        let ms = u64::try_from(now.since(self.last).as_millis()).unwrap_or(u64::MAX);
        self.last = now;
        self.done.push(Stage { name, ms });
    }

    pub(super) fn finish(self) -> Vec<Stage> {
        self.done
    }
}

/// Everything that happened.
#[derive(Debug, Serialize)]
pub(super) struct Story {
    pub(super) server: String,
    pub(super) report: Report,
    /// The same benchmark, made slower.
    pub(super) second: Report,
    /// The job of the first report.
    pub(super) job: Job,
    pub(super) events: Vec<JobEvent>,
    pub(super) comparison: CompareReport,
    pub(super) perf: Perf,
    pub(super) stages: Vec<Stage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) kept: Option<PathBuf>,
}

impl Story {
    /// Leaves a picture where everything else was left.
    pub(super) fn keep(&mut self, directory: Option<PathBuf>) -> Result<(), Failure> {
        if let Some(directory) = &directory {
            std::fs::write(directory.join(PICTURE), plot::svg(&self.chart()))?;
        }
        self.kept = directory;
        Ok(())
    }

    pub(super) fn print(&self, terminal: &Terminal) -> Result<(), Failure> {
        let say = |line: String| terminal.data(&line);
        say(format!(
            "Job {} of project {}",
            self.job.uuid, self.report.project.slug
        ))?;
        for event in &self.events {
            let to = event.to.map_or("", kiln_model::Status::name);
            say(format!(
                "  {:<3} {:<10} by {}",
                event.number, to, event.actor
            ))?;
        }
        self.print_conditions(terminal)?;
        say(String::new())?;
        say("Stages".to_owned())?;
        for stage in &self.stages {
            say(format!("  {:<16} {:>6} ms", stage.name, stage.ms))?;
        }
        say(String::new())?;
        self.print_numbers(terminal)?;
        match &self.kept {
            Some(path) => say(format!("Everything is in {}: the database, the objects, the runner's cache, and {PICTURE}.", path.display())),
            None => say("It is all gone again; `kiln demo --keep` leaves the database, the objects and the runner's cache to look at.".to_owned()),
        }
    }

    /// What was measured, what became of it, and how it looks.
    fn print_numbers(&self, terminal: &Terminal) -> Result<(), Failure> {
        let count = self.report.results.as_ref().map_or(0, Vec::len);
        terminal.data(&format!(
            "Two runs of {count} iterations; the second sorts half as many numbers again"
        ))?;
        terminal.data("")?;
        compare::print(terminal, &self.comparison)?;
        terminal.data("")?;
        for line in &self.perf.results {
            perf::print(terminal, line, Across::Order, COLUMNS)?;
        }
        Ok(())
    }

    /// Every line in one picture.
    fn chart(&self) -> Chart {
        let lines = self.perf.results.iter();
        Chart {
            title: "kiln demo".to_owned(),
            x_axis: XAxis::Version,
            units: "nanoseconds (ns)".to_owned(),
            lines: lines
                .flat_map(|line| chart(line, Across::Order).lines)
                .collect(),
        }
    }

    fn print_conditions(&self, terminal: &Terminal) -> Result<(), Failure> {
        let Some(conditions) = self
            .job
            .output
            .as_ref()
            .and_then(|output| output.conditions.as_ref())
        else {
            return Ok(());
        };
        terminal.data("")?;
        let backend = conditions.backend.as_deref().unwrap_or("unknown");
        let runner = self
            .job
            .runner
            .map_or_else(String::new, |runner| format!(" on runner {runner}"));
        terminal.data(&format!("Sealed by the {backend} back end{runner}"))?;
        for layer in &conditions.layers {
            let mark = if layer.applied { "yes" } else { "NO " };
            let (name, detail) = (&layer.name, &layer.detail);
            terminal.data(&format!("  {mark} {name:<17} {detail}"))?;
        }
        Ok(())
    }
}
