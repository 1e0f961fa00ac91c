//! The live feed of a job's events.

use std::time::Duration;

use kiln_model::JobUuid;
use kiln_model::v0::{JobEvent, LiveText};
use reqwest::header::ACCEPT;
use reqwest::{Method, RequestBuilder, Response};

use crate::{Client, Error};

/// A feed lives as long as its job; the server says something every fifteen seconds.
const FEED_TIMEOUT: Duration = Duration::from_hours(24 * 7);
/// No event of this server is longer.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// Events as they happen. It ends with the job, or when the connection does: then follow again after the last number.
#[derive(Debug)]
pub struct EventFeed {
    server: String,
    response: Response,
    buffer: Vec<u8>,
}

/// What a feed tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FeedItem {
    Event(JobEvent),
    /// What the job wrote, with the number of the piece.
    Output {
        number: i64,
        text: LiveText,
    },
}

/// How far a feed was followed: the last event, and the last piece of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FeedCursor {
    pub event: i64,
    pub piece: i64,
}

impl FeedCursor {
    /// The next feed goes on after this.
    pub fn pass(&mut self, item: &FeedItem) {
        match item {
            FeedItem::Event(event) => self.event = event.number,
            FeedItem::Output { number, .. } => self.piece = *number,
        }
    }
}

impl Client {
    /// The events of a job and what it writes, as they happen, after what was seen.
    pub async fn follow_job_output(
        &self,
        project: &str,
        job: JobUuid,
        seen: FeedCursor,
    ) -> Result<EventFeed, Error> {
        let last = format!("{}.{}", seen.event, seen.piece);
        let request = self.feed(project, job)?.query(&[("output", "true")]);
        self.open_feed(request.header("last-event-id", last)).await
    }

    /// The events of a job after the one with the number `after`, as they happen.
    pub async fn follow_job(
        &self,
        project: &str,
        job: JobUuid,
        after: i64,
    ) -> Result<EventFeed, Error> {
        let request = self.feed(project, job)?;
        self.open_feed(request.header("last-event-id", after)).await
    }

    fn feed(&self, project: &str, job: JobUuid) -> Result<RequestBuilder, Error> {
        let job = job.to_string();
        let path = ["v0", "projects", project, "jobs", &job, "events"];
        Ok(self
            .request(Method::GET, &path)?
            .header(ACCEPT, "text/event-stream")
            .timeout(FEED_TIMEOUT))
    }

    async fn open_feed(&self, request: RequestBuilder) -> Result<EventFeed, Error> {
        Ok(EventFeed {
            server: self.base().to_owned(),
            response: self.send(request).await?,
            buffer: Vec::new(),
        })
    }
}

impl EventFeed {
    /// The next event; `None` when the feed is over.
    pub async fn next(&mut self) -> Result<Option<JobEvent>, Error> {
        loop {
            match self.next_item().await? {
                Some(FeedItem::Event(event)) => return Ok(Some(event)),
                Some(FeedItem::Output { .. }) => {}
                None => return Ok(None),
            }
        }
    }

    /// The next event or piece of output; `None` when the feed is over.
    pub async fn next_item(&mut self) -> Result<Option<FeedItem>, Error> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\n\n") {
                let block: Vec<u8> = self.buffer.drain(..end + 2).collect();
                if let Some(event) = self.read(&block)? {
                    return Ok(Some(event));
                }
                continue;
            }
            let chunk = self.response.chunk().await;
            let Some(chunk) = chunk.map_err(|source| Error::Unreachable {
                server: self.server.clone(),
                source: source.without_url(),
            })?
            else {
                return Ok(None);
            };
            if self.buffer.len() + chunk.len() > MAX_EVENT_BYTES {
                return Err(Error::TooLarge {
                    server: self.server.clone(),
                    limit: MAX_EVENT_BYTES,
                });
            }
            self.buffer.extend_from_slice(&chunk);
        }
    }

    /// The event in a block, if there is one: comments keep the connection alive and say nothing.
    fn read(&self, block: &[u8]) -> Result<Option<FeedItem>, Error> {
        let field = |name: &[u8]| {
            let mut lines = block.split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(name).map(<[u8]>::trim_ascii))
        };
        let Some(data) = field(b"data:") else {
            return Ok(None);
        };
        let read = if field(b"event:") == Some(b"output") {
            let number = field(b"id:").and_then(piece_number).unwrap_or_default();
            serde_json::from_slice(data).map(|text| FeedItem::Output { number, text })
        } else {
            serde_json::from_slice(data).map(FeedItem::Event)
        };
        read.map(Some).map_err(|source| Error::Unreadable {
            server: self.server.clone(),
            source,
        })
    }
}

/// Of an id such as `12.345`.
fn piece_number(id: &[u8]) -> Option<i64> {
    let (_, piece) = std::str::from_utf8(id).ok()?.split_once('.')?;
    piece.parse().ok()
}
