//! Following a job to its end.

use std::time::Duration;

use kiln_client::{Client, Error, FeedCursor, FeedItem};
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
    let see_event = |item: &FeedItem| match item {
        FeedItem::Event(event) => see(event),
        FeedItem::Output { .. } => Ok(()),
    };
    follow_items(client, project, job, false, see_event).await
}

/// The same with what the job writes, if that is wanted.
pub(super) async fn follow_items(
    client: &Client,
    project: &str,
    job: JobUuid,
    with_output: bool,
    mut see: impl FnMut(&FeedItem) -> Result<(), Failure>,
) -> Result<Job, Failure> {
    let mut followed = Followed {
        client,
        project,
        job,
        with_output,
        seen: FeedCursor::default(),
    };
    let mut failed = 0;
    loop {
        match followed.once(&mut see).await {
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

/// A job, and how far it was followed.
struct Followed<'a> {
    client: &'a Client,
    project: &'a str,
    job: JobUuid,
    with_output: bool,
    seen: FeedCursor,
}

impl Followed<'_> {
    /// One feed; the job, if there is nothing more to come.
    async fn once(
        &mut self,
        see: &mut impl FnMut(&FeedItem) -> Result<(), Failure>,
    ) -> Result<Option<Job>, Cut> {
        let (client, project, job) = (self.client, self.project, self.job);
        let feed = if self.with_output {
            client.follow_job_output(project, job, self.seen).await
        } else {
            client.follow_job(project, job, self.seen.event).await
        };
        let mut feed = feed.map_err(Cut::Feed)?;
        loop {
            match feed.next_item().await {
                Ok(Some(item)) => {
                    self.seen.pass(&item);
                    see(&item).map_err(Cut::Seeing)?;
                    if matches!(&item, FeedItem::Event(event) if event.to == Some(Status::Completed))
                    {
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
