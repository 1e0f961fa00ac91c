//! The live feed of a job's events.

use std::time::Duration;

use kiln_model::JobUuid;
use kiln_model::v0::JobEvent;
use reqwest::header::ACCEPT;
use reqwest::{Method, Response};

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

impl Client {
    /// The events of a job after the one with the number `after`, as they happen.
    pub async fn follow_job(
        &self,
        project: &str,
        job: JobUuid,
        after: i64,
    ) -> Result<EventFeed, Error> {
        let job = job.to_string();
        let request = self
            .request(
                Method::GET,
                &["v0", "projects", project, "jobs", &job, "events"],
            )?
            .header(ACCEPT, "text/event-stream")
            .header("last-event-id", after)
            .timeout(FEED_TIMEOUT);
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
    fn read(&self, block: &[u8]) -> Result<Option<JobEvent>, Error> {
        let mut lines = block.split(|byte| *byte == b'\n');
        let Some(data) = lines.find_map(|line| line.strip_prefix(b"data:")) else {
            return Ok(None);
        };
        serde_json::from_slice(data)
            .map(Some)
            .map_err(|source| Error::Unreadable {
                server: self.server.clone(),
                source,
            })
    }
}
