//! Following a job to its end.

use std::time::Duration;

use kiln_client::{Client, Error};
use kiln_model::v0::{Job, JobEvent};
use kiln_model::{JobUuid, Status};

use super::target::from_client;
use crate::failure::Failure;

/// How often an unreachable server is tried again, and after how long: a restart takes less than these two minutes.
const ATTEMPTS: u32 = 120;
const PAUSE: Duration = Duration::from_secs(1);
/// How long results take to be read, usually.
const READING: Duration = Duration::from_millis(100);

/// Hands each event to `see`, until the job is over; a feed that was cut off is taken up where it was.
pub(super) async fn follow(
    client: &Client,
    project: &str,
    job: JobUuid,
    mut see: impl FnMut(&JobEvent) -> Result<(), Failure>,
) -> Result<Job, Failure> {
    let mut after = 0;
    let mut failed = 0;
    loop {
        match follow_once(client, project, job, &mut after, &mut see).await {
            Ok(Some(job)) => return Ok(job),
            Ok(None) => failed = 0,
            Err(Cut::Seeing(failure)) => return Err(failure),
            Err(Cut::Feed(Error::Unreachable { .. })) if failed < ATTEMPTS => {
                failed += 1;
                tokio::time::sleep(PAUSE).await;
            }
            Err(Cut::Feed(error)) => return Err(from_client(error)),
        }
    }
}

/// Looks at the job every so often, until it is over, and hands each status that is new to `see`.
pub(super) async fn poll(
    client: &Client,
    project: &str,
    job: JobUuid,
    every: Duration,
    mut see: impl FnMut(Status),
) -> Result<Job, Failure> {
    let (mut seen, mut failed) = (None, 0);
    loop {
        match client.get_job(project, job).await {
            Ok(found) => {
                failed = 0;
                if seen != Some(found.status) {
                    seen = Some(found.status);
                    see(found.status);
                }
                if is_over(&found) {
                    return Ok(found);
                }
            }
            Err(Error::Unreachable { .. }) if failed < ATTEMPTS => failed += 1,
            Err(error) => return Err(from_client(error)),
        }
        tokio::time::sleep(every).await;
    }
}

/// Why a feed was not followed to its end.
enum Cut {
    Feed(Error),
    Seeing(Failure),
}

/// One feed; the job, if there is nothing more to come.
async fn follow_once(
    client: &Client,
    project: &str,
    job: JobUuid,
    after: &mut i64,
    see: &mut impl FnMut(&JobEvent) -> Result<(), Failure>,
) -> Result<Option<Job>, Cut> {
    let feed = client.follow_job(project, job, *after).await;
    let mut feed = feed.map_err(Cut::Feed)?;
    loop {
        match feed.next().await {
            Ok(Some(event)) => {
                *after = event.number;
                see(&event).map_err(Cut::Seeing)?;
                if event.to == Some(Status::Completed) {
                    return until_read(client, project, job).await.map_err(Cut::Feed);
                }
            }
            // A cut connection is no reason to stop: the next feed begins after what was seen.
            Ok(None) | Err(Error::Unreachable { .. }) => break,
            Err(error) => return Err(Cut::Feed(error)),
        }
    }
    let job = client.get_job(project, job).await.map_err(Cut::Feed)?;
    Ok(is_over(&job).then_some(job))
}

/// Waits until the results of a completed job have been read. The job, if that cannot be done: then it stays completed, and
/// no event says so.
async fn until_read(client: &Client, project: &str, job: JobUuid) -> Result<Option<Job>, Error> {
    loop {
        let found = client.get_job(project, job).await?;
        if found.status != Status::Completed {
            return Ok(None);
        }
        if is_over(&found) {
            return Ok(Some(found));
        }
        tokio::time::sleep(READING).await;
    }
}

fn is_over(job: &Job) -> bool {
    if job.status == Status::Completed {
        job.error.is_some()
    } else {
        job.status.is_ended()
    }
}
