//! Waiting for a job, and saying how it goes.

use std::time::Duration;

use kiln_client::{Client, FeedItem};
use kiln_model::v0::{Job, JobEvent, JobOutput};
use kiln_model::{JobUuid, Status};

use super::live::Live;
use crate::commands::follow::{follow_items, poll};
use crate::commands::server::StopSignals;
use crate::failure::{Exit, Failure};
use crate::terminal::Terminal;

/// A job that waits longer than this wants explaining.
const PATIENCE: Duration = Duration::from_secs(10);

/// Follows the job to its end and shows what it writes, or looks at it every so often and shows what it wrote. An interrupt leaves
/// the job running.
pub(super) async fn watch(
    terminal: &Terminal,
    client: &Client,
    stop: &mut StopSignals,
    (project, uuid): (&str, JobUuid),
    every: Option<Duration>,
) -> Result<Job, Failure> {
    let mut last = String::new();
    let say = |status: Status, more: &str| {
        terminal.note(&format!("job {uuid} is {status}{more}"));
        terminal.progress(&format!("job {uuid} is {status}"));
    };
    let mut live = Live::new(terminal, project, uuid);
    let see = |item: &FeedItem| {
        let event = match item {
            FeedItem::Event(event) => event,
            FeedItem::Output { text, .. } => return live.see(text),
        };
        last.clone_from(&event.event);
        if let Some(status) = event.to {
            live.end_line();
            say(status, &detail(event));
        }
        Ok(())
    };
    let ended = async {
        match every {
            Some(every) => poll(client, project, uuid, every, |status| say(status, "")).await,
            None => follow_items(client, project, uuid, true, see).await,
        }
    };
    let followed = tokio::select! {
        job = ended => job,
        () = stop.received() => Err(left(project, uuid)),
        () = explain_waiting(terminal, client, project, uuid) => unreachable!("it explains for ever"),
    };
    terminal.end_progress();
    live.end_line();
    let job = followed?;
    if let Some(output) = &job.output {
        live.finish(output)?;
        say_how_quiet(terminal, output);
    }
    match job.status {
        Status::Failed | Status::Canceled | Status::Abandoned => Err(failed(project, &job, &last)),
        Status::Pending
        | Status::Claimed
        | Status::Running
        | Status::Completed
        | Status::Processed => Ok(job),
    }
}

/// How quiet the job's host was.
fn say_how_quiet(terminal: &Terminal, output: &JobOutput) {
    let conditions = output.conditions.as_ref();
    if conditions.is_some_and(|conditions| conditions.shared) {
        terminal.note("the runner was shared with other jobs: timings mean little");
    }
    let receipt = conditions.and_then(|conditions| conditions.noise.as_ref());
    if let Some((before, after)) = receipt.and_then(|noise| noise.before.zip(noise.after)) {
        terminal.note(&format!(
            "the host was {} of 100 quiet before, {} after",
            before.score, after.score
        ));
    }
    for seen in receipt.into_iter().flat_map(|noise| &noise.interference) {
        terminal.note(&format!("interference seen: {seen}"));
    }
}

fn detail(event: &JobEvent) -> String {
    let detail = event.detail.as_deref();
    detail.map_or_else(String::new, |detail| format!(": {detail}"))
}

/// While no runner takes the job, says why, from time to time.
async fn explain_waiting(terminal: &Terminal, client: &Client, project: &str, job: JobUuid) {
    let mut pause = PATIENCE;
    let mut said = String::new();
    loop {
        tokio::time::sleep(pause).await;
        if let Ok(waiting) = client.explain_job(project, job).await
            && waiting.status == Status::Pending
            && waiting.detail != said
        {
            terminal.note(&format!("it waits: {}", waiting.detail));
            said = waiting.detail;
        }
        pause = (pause * 2).min(Duration::from_mins(1));
    }
}

fn left(project: &str, job: JobUuid) -> Failure {
    Failure::new(Exit::Interrupted, format!("interrupted; job {job} goes on")).hint(format!(
        "`kiln job logs {job} --project {project} --follow` waits for it, `kiln job cancel {job} --project {project}` ends it"
    ))
}

fn failed(project: &str, job: &Job, last_event: &str) -> Failure {
    let why = job.error.as_deref().unwrap_or("no reason was given");
    let timed_out = last_event == "hard_timeout" || why.contains("ran into its timeout");
    let exit = match job.status {
        _ if timed_out => Exit::JobTimedOut,
        Status::Canceled => Exit::JobCanceled,
        Status::Pending
        | Status::Claimed
        | Status::Running
        | Status::Completed
        | Status::Processed
        | Status::Failed
        | Status::Abandoned => Exit::JobFailed,
    };
    let (uuid, status) = (job.uuid, job.status);
    Failure::new(exit, format!("job {uuid} is {status}: {why}")).hint(format!(
        "`kiln job events {uuid} --project {project}` shows its way, `kiln job retry` does it again"
    ))
}
