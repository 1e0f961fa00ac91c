//! `kiln job`.

use kiln_client::{Client, FeedItem, Page};
use kiln_model::Status;
use kiln_model::v0::{DateTime, Job, JobEvent, JobOutput, Waiting};
use serde::Serialize;
use tokio::runtime::Runtime;

use super::Context;
use super::connection::Connection;
use super::follow::{follow, follow_items};
use super::logs::{Printed, bad_end, fill};
use super::target::from_client;
use crate::cli::job::{self as cli, Follow, List, Logs, Named};
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &cli::Job) -> Result<Exit, Failure> {
    let server = Connection::find(context)?;
    let desk = Desk {
        context,
        client: &server.client,
        runtime: &server.runtime,
    };
    match command {
        cli::Job::List(list) => desk.list(list),
        cli::Job::Show(named) => desk.show(named),
        cli::Job::Logs(logs) => desk.logs(logs),
        cli::Job::Events(follow) => desk.events(follow),
        cli::Job::Cancel(named) => desk.cancel(named),
        cli::Job::Retry(named) => desk.retry(named),
        cli::Job::Why(named) => desk.why(named),
    }
}

struct Desk<'a> {
    context: &'a Context<'a>,
    client: &'a Client,
    runtime: &'a Runtime,
}

impl Desk<'_> {
    fn list(&self, list: &List) -> Result<Exit, Failure> {
        let page = Page {
            number: list.page,
            size: list.per_page,
        };
        let jobs = self
            .runtime
            .block_on(
                self.client
                    .list_jobs(&list.project.project, list.status, page),
            )
            .map_err(from_client)?;
        self.print(list.project.access.json.json, &jobs, || table(&jobs))
    }

    fn show(&self, named: &Named) -> Result<Exit, Failure> {
        let job = self.get(named)?;
        self.print(named.project.access.json.json, &job, || card(&job))
    }

    fn logs(&self, logs: &Logs) -> Result<Exit, Failure> {
        let (named, json) = (&logs.named, logs.named.project.access.json.json);
        let project = &named.project.project;
        let mut printed = Printed::new(self.context.terminal);
        if logs.follow {
            let see = |item: &FeedItem| if json { Ok(()) } else { printed.see(item) };
            let following = follow_items(self.client, project, named.job, true, see);
            self.runtime.block_on(following)?;
        }
        let mut job = self.get(named)?;
        if let Some(output) = &mut job.output {
            self.runtime
                .block_on(fill(self.client, project, named.job, output))
                .map_err(from_client)?;
        }
        let Some(output) = &job.output else {
            self.context.terminal.note(&format!(
                "The job is {} and has written nothing yet.",
                job.status
            ));
            return Ok(Exit::Ok);
        };
        if printed.is_empty() {
            self.print(json, output, || output_text(output))?;
        } else {
            printed.print_rest(output, usize::MAX)?;
            if let Some(error) = &output.error {
                self.context.terminal.data(&format!("error: {error}"))?;
            }
        }
        Ok(ending(&job))
    }

    fn events(&self, follow: &Follow) -> Result<Exit, Failure> {
        let named = &follow.named;
        let json = named.project.access.json.json;
        if !follow.follow {
            let events = self
                .runtime
                .block_on(
                    self.client
                        .list_job_events(&named.project.project, named.job),
                )
                .map_err(from_client)?;
            return self.print(json, &events, || {
                events.iter().map(line).collect::<Vec<_>>().join("\n")
            });
        }
        self.follow(named, |event| {
            if json {
                let text = serde_json::to_string(event).expect("an event is plain data");
                self.context.terminal.data(&text)
            } else {
                self.context.terminal.data(&line(event))
            }
        })?;
        Ok(Exit::Ok)
    }

    fn cancel(&self, named: &Named) -> Result<Exit, Failure> {
        let job = self
            .runtime
            .block_on(self.client.cancel_job(&named.project.project, named.job))
            .map_err(from_client)?;
        self.print(named.project.access.json.json, &job, || {
            format!("{} is {}", job.uuid, job.status)
        })
    }

    fn retry(&self, named: &Named) -> Result<Exit, Failure> {
        let job = self
            .runtime
            .block_on(self.client.retry_job(&named.project.project, named.job))
            .map_err(from_client)?;
        self.print(named.project.access.json.json, &job, || {
            job.uuid.to_string()
        })
    }

    fn why(&self, named: &Named) -> Result<Exit, Failure> {
        let waiting = self
            .runtime
            .block_on(self.client.explain_job(&named.project.project, named.job))
            .map_err(from_client)?;
        self.print(named.project.access.json.json, &waiting, || {
            reason(&waiting)
        })
    }

    fn get(&self, named: &Named) -> Result<Job, Failure> {
        self.runtime
            .block_on(self.client.get_job(&named.project.project, named.job))
            .map_err(from_client)
    }

    fn follow(
        &self,
        named: &Named,
        see: impl FnMut(&JobEvent) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let following = follow(self.client, &named.project.project, named.job, see);
        self.runtime.block_on(following).map(drop)
    }

    fn print(
        &self,
        json: bool,
        data: &impl Serialize,
        human: impl FnOnce() -> String,
    ) -> Result<Exit, Failure> {
        if json {
            self.context.terminal.json(data)?;
        } else {
            self.context.terminal.data(&human())?;
        }
        Ok(Exit::Ok)
    }
}

/// Scripts see how the job ended.
const fn ending(job: &Job) -> Exit {
    match job.status {
        Status::Failed | Status::Abandoned => Exit::JobFailed,
        Status::Canceled => Exit::JobCanceled,
        Status::Pending
        | Status::Claimed
        | Status::Running
        | Status::Completed
        | Status::Processed => Exit::Ok,
    }
}

fn table(jobs: &[Job]) -> String {
    let mut lines = vec![format!(
        "{:36}  {:9}  {:20}  SPEC",
        "JOB", "STATUS", "CREATED"
    )];
    lines.extend(jobs.iter().map(|job| {
        format!(
            "{:36}  {:9}  {:20}  {}",
            job.uuid.to_string(),
            job.status.name(),
            job.created.to_string(),
            job.spec.slug
        )
    }));
    lines.join("\n")
}

fn card(job: &Job) -> String {
    let time = |time: Option<DateTime>| time.map(|time| time.to_string());
    let rows = [
        ("job", Some(job.uuid.to_string())),
        ("status", Some(job.status.to_string())),
        ("error", job.error.clone()),
        ("spec", Some(job.spec.slug.to_string())),
        ("runner", job.runner.map(|runner| runner.to_string())),
        ("retry of", job.retry_of.map(|job| job.to_string())),
        ("created", Some(job.created.to_string())),
        ("claimed", time(job.claimed)),
        ("started", time(job.started)),
        ("ended", time(job.completed)),
    ];
    let known = rows
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    known
        .map(|(name, value)| format!("{name:9} {value}"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// What every iteration wrote.
fn output_text(output: &JobOutput) -> String {
    let mut parts = Vec::new();
    for (number, iteration) in output.results.iter().enumerate() {
        if output.results.len() > 1 {
            parts.push(format!("── iteration {number}"));
        }
        parts.extend(iteration.stdout.clone());
        parts.extend(iteration.stderr.clone());
        for (path, contents) in iteration.output.iter().flatten() {
            parts.push(format!("── {path}\n{contents}"));
        }
        parts.extend(bad_end(output, number).map(|end| format!("── {end}")));
    }
    parts.extend(output.error.as_ref().map(|error| format!("error: {error}")));
    let trimmed = parts.iter().map(|part| part.trim_end_matches('\n'));
    let written: Vec<&str> = trimmed.filter(|part| !part.is_empty()).collect();
    written.join("\n")
}

fn line(event: &JobEvent) -> String {
    let to = event.to.map_or("", Status::name);
    let detail = event.detail.as_deref().unwrap_or_default();
    format!(
        "{:>4}  {}  {:15} {:10} {} {detail}",
        event.number, event.at, event.event, to, event.actor
    )
    .trim_end()
    .to_owned()
}

fn reason(waiting: &Waiting) -> String {
    let mut text = waiting.detail.clone();
    if let Some(position) = waiting.position {
        text = format!("{text}\nposition  {position}");
    }
    if let Some(seconds) = waiting.estimate_seconds {
        text = format!("{text}\nestimate  {seconds} s");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kiln_model::v0::{Blocker, Conditions, Ended, IterationOutput, IterationUsage};

    #[test]
    fn logs_show_every_iteration_and_the_error() {
        let iteration = |out: &str| IterationOutput {
            stdout: Some(format!("{out}\n")),
            ..IterationOutput::default()
        };
        let mut output = JobOutput {
            results: vec![iteration("one")],
            ..JobOutput::default()
        };
        assert_eq!(output_text(&output), "one");
        output.results.push(iteration("two"));
        output.error = Some("broke".to_owned());
        assert_eq!(
            output_text(&output),
            "── iteration 0\none\n── iteration 1\ntwo\nerror: broke"
        );
    }

    #[test]
    fn logs_say_how_iterations_ended_that_did_not_end_well() {
        let iteration = |exit_code| IterationOutput {
            exit_code,
            stdout: Some("x".to_owned()),
            ..IterationOutput::default()
        };
        let ended = |ended, signal| IterationUsage {
            ended: Some(ended),
            signal,
            ..IterationUsage::default()
        };
        let mut output = JobOutput {
            results: [0, 137, 137, 1, 137].map(iteration).into(),
            conditions: Some(Box::new(Conditions {
                iterations: vec![
                    ended(Ended::Exited, None),
                    ended(Ended::Exited, None),
                    ended(Ended::Signaled, Some(9)),
                    ended(Ended::DiskFull, None),
                    ended(Ended::OutOfMemory, None),
                ],
                ..Conditions::default()
            })),
            ..JobOutput::default()
        };
        let ends = |output: &JobOutput| {
            let text = output_text(output);
            let lines = text.lines().filter(|line| line.starts_with("── "));
            let ends = lines.filter(|line| !line.contains("iteration"));
            ends.map(|line| line.trim_start_matches("── ").to_owned())
                .collect::<Vec<_>>()
        };
        let all = [
            "exited with code 137",
            "killed by signal 9",
            "filled its disk (exit code 1)",
            "ran out of memory",
        ];
        assert_eq!(ends(&output), all);
        output.error = Some("iteration 5: the command ran out of memory".to_owned());
        assert_eq!(ends(&output), all[..3], "the error says the last");
        // From a runner that does not tell.
        output.conditions = None;
        assert_eq!(ends(&output)[1], "exited with code 137");
    }

    #[test]
    fn a_reason_has_the_place_and_the_estimate() {
        let waiting = Waiting {
            status: Status::Pending,
            blocker: Blocker::RunnersBusy,
            detail: "busy".to_owned(),
            position: Some(3),
            estimate_seconds: Some(90),
        };
        assert_eq!(reason(&waiting), "busy\nposition  3\nestimate  90 s");
    }
}
