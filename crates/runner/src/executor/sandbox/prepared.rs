//! Running the iterations of a job that is set up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use kiln_insight::Side;
use kiln_model::v0::Conditions;
use kiln_sandbox::{CancelToken, CollectedFile, Exit, FileLimit, FileOutcome, Limits, Outcome};

use super::measured;
use super::sink::Sink;
use super::stage::{Stage, StageError};
use super::task::Task;
use super::turns::Schedule;
use super::{Parts, blocking};
use crate::executor::quiet::Place;
use crate::executor::{Execution, LiveOutput, Prepared, Terms, Verdict, conditions as told};
use crate::{Captured, Iteration, Output};

/// As many as a job may ask for.
const MAX_FILES: usize = 255;

/// Between asking a command to end and forcing it.
const GRACE: Duration = Duration::from_secs(5);

pub(super) struct PreparedJob {
    sides: Sides,
    schedule: Schedule,
    task: Task,
    conditions: Conditions,
}

/// The image of the job, and the one that takes turns with it.
pub(super) struct Sides {
    pub(super) base: Parts,
    pub(super) head: Option<Parts>,
    pub(super) place: Place,
}

impl Sides {
    pub(super) fn one(base: Parts, place: Place) -> Self {
        Self {
            base,
            head: None,
            place,
        }
    }

    fn of(&mut self, side: Side) -> &mut Parts {
        match (side, &mut self.head) {
            (Side::Head, Some(head)) => head,
            (Side::Base | Side::Head, _) => &mut self.base,
        }
    }
}

impl PreparedJob {
    pub(super) fn new(
        sides: Sides,
        schedule: Schedule,
        task: Task,
        conditions: Conditions,
    ) -> Self {
        Self {
            sides,
            schedule,
            task,
            conditions,
        }
    }
}

impl Prepared for PreparedJob {
    fn execute(self: Box<Self>, terms: Terms) -> BoxFuture<'static, Execution> {
        Box::pin(async move {
            let conditions = self.conditions.clone();
            let canceler = match CancelToken::new() {
                Ok(canceler) => canceler,
                Err(error) => return failed(&StageError::new(Stage::Run, &error), conditions),
            };
            let stop = canceler.clone();
            let cancel = terms.cancel.clone();
            let run = blocking(Stage::Run, move || {
                Ok(self.run(&canceler, terms.output_bytes, &terms.live))
            });
            tokio::pin!(run);
            let result = tokio::select! {
                result = &mut run => result,
                () = cancel.cancelled() => {
                    stop.cancel();
                    run.await
                }
            };
            result.unwrap_or_else(|error| failed(&error, conditions))
        })
    }
}

impl PreparedJob {
    /// Runs on a thread of its own, which is the chamber's parent.
    fn run(self, cancel: &CancelToken, output_bytes: usize, live: &LiveOutput) -> Execution {
        let Self {
            mut sides,
            mut schedule,
            task,
            mut conditions,
        } = self;
        let shared = Arc::clone(&sides.base.shared);
        let started = shared.clock.monotonic();
        let mut output = Output::new(output_bytes);
        let mut verdict = Verdict::Completed;
        let mut number = 0;
        while let Some(side) = schedule.side(number) {
            live.begin(u64::from(number));
            // Nothing is made for another turn while the other side's command is measured.
            sides.of(side).chamber.expect(schedule.further(number));
            number += 1;
            let left = task
                .timeout
                .saturating_sub(shared.clock.monotonic().since(started));
            let bounds = Bounds {
                timeout: left,
                output_bytes,
            };
            let sink = Sink::new(output_bytes, live.clone());
            match run_once(sides.of(side), &task, bounds, sink, cancel) {
                Ok((exit, iteration)) => {
                    conditions.iterations.push(told::usage(&exit));
                    conditions.layers = told::layers(&exit);
                    let judged = judge(number, &exit, &task);
                    schedule.look_at(&iteration);
                    output.push(iteration);
                    if let Some(failure) = judged {
                        verdict = Verdict::Failed(failure);
                        break;
                    }
                }
                Err(error) => {
                    verdict = Verdict::Failed(StageError::new(Stage::Run, &error).to_string());
                    break;
                }
            }
        }
        conditions.stages.run_ms = shared.since(started);
        if let Some(paired) = &mut conditions.paired {
            paired.turns = u64::from(number);
            paired.decided = schedule.is_decided();
        }
        if let (Some(quiet), Some(noise)) = (&shared.config.quiet, &mut conditions.noise) {
            quiet.look_after(&sides.place, &conditions.iterations, noise);
        }
        for parts in std::iter::once(sides.base).chain(sides.head) {
            take_down(parts);
        }
        // Nobody runs there any more.
        drop(sides.place);
        Execution {
            verdict,
            output,
            conditions,
        }
    }
}

fn take_down(parts: Parts) {
    if let Err(error) = parts.chamber.destroy() {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "cannot take down a chamber"
        );
    }
    // Only now may the cache let go of it.
    drop(parts.image);
}

/// What one iteration may take.
#[derive(Clone, Copy)]
struct Bounds {
    timeout: Duration,
    /// Of each stream, and of all files together.
    output_bytes: usize,
}

fn run_once(
    parts: &mut Parts,
    task: &Task,
    bounds: Bounds,
    mut sink: Sink,
    cancel: &CancelToken,
) -> Result<(Exit, Iteration), kiln_sandbox::Error> {
    let files_bytes = if task.file_size {
        0
    } else {
        bounds.output_bytes as u64
    };
    let limits = Limits {
        timeout: Some(bounds.timeout),
        grace: GRACE,
        stdout_bytes: parts.shared.config.stream_bytes,
        stderr_bytes: parts.shared.config.stream_bytes,
        files: FileLimit {
            bytes: files_bytes,
            // What cannot be delivered is not worth the runner's memory.
            total_bytes: files_bytes,
            count: MAX_FILES,
        },
        resources: task.resources.clone(),
    };
    let mut exit = parts
        .chamber
        .run(&parts.command, &limits, &mut sink, cancel)?;
    let (stdout, stderr) = sink.into_captured(exit.stdout, exit.stderr);
    let files = match measured::document(task, &exit) {
        Some(document) => Some(BTreeMap::from([(
            measured::KEY.to_owned(),
            document.as_str().into(),
        )])),
        None => (!parts.command.files.is_empty()).then(|| collected(&mut exit.files)),
    };
    let iteration = Iteration {
        exit_code: exit_code(exit.outcome),
        stdout,
        stderr,
        files,
    };
    Ok((exit, iteration))
}

/// Takes the files' bytes out of the exit; which were missing stays there.
fn collected(files: &mut [CollectedFile]) -> BTreeMap<String, Captured> {
    let mut texts = BTreeMap::new();
    for file in files {
        let bytes = std::mem::take(&mut file.bytes);
        let lost = match &file.outcome {
            FileOutcome::Whole => 0,
            FileOutcome::Truncated { size } => size.saturating_sub(bytes.len() as u64),
            FileOutcome::Missing | FileOutcome::Refused { .. } => continue,
        };
        texts.insert(file.path.clone(), Captured::new(&bytes, lost));
    }
    texts
}

/// Why an iteration fails its job, if it does.
fn judge(number: u32, exit: &Exit, task: &Task) -> Option<String> {
    let tolerant = task.allow_failure;
    let because = |what: String| Some(format!("run: iteration {number}: {what}"));
    match exit.outcome {
        Outcome::Canceled => return because("the command was stopped".to_owned()),
        Outcome::TimedOut => {
            return because(format!(
                "the job ran into its timeout of {} seconds; its output until then is kept",
                task.timeout.as_secs()
            ));
        }
        Outcome::Exited(0) => {}
        _ if tolerant => {}
        Outcome::Exited(code) => return because(format!("the command exited with code {code}")),
        Outcome::Signaled(signal) => {
            return because(format!("the command was killed by signal {signal}"));
        }
        Outcome::OutOfMemory => {
            return because("the command ran out of memory; use a spec with more of it".to_owned());
        }
        Outcome::DiskFull(_) => {
            return because("the command filled its disk; use a spec with a larger one".to_owned());
        }
    }
    let missing = exit.files.iter().find_map(|file| match &file.outcome {
        FileOutcome::Missing => Some(format!("{} was not written", file.path)),
        FileOutcome::Refused { reason } => Some(format!("{} is refused: {reason}", file.path)),
        FileOutcome::Whole | FileOutcome::Truncated { .. } => None,
    });
    missing
        .filter(|_| !tolerant)
        .map(|what| format!("collect: iteration {number}: {what}"))
}

/// As shells put it: signals from 128 on.
const fn exit_code(outcome: Outcome) -> i32 {
    const SIGTERM: i32 = 15;
    const SIGKILL: i32 = 9;
    match outcome {
        Outcome::Exited(code) | Outcome::DiskFull(code) => code,
        Outcome::Signaled(signal) => 128 + signal,
        Outcome::TimedOut | Outcome::Canceled => 128 + SIGTERM,
        Outcome::OutOfMemory => 128 + SIGKILL,
    }
}

fn failed(error: &StageError, conditions: Conditions) -> Execution {
    Execution {
        verdict: Verdict::Failed(error.to_string()),
        output: Output::default(),
        conditions,
    }
}
