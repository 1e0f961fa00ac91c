//! A job's timeline: as a list, or live.
//!
//! With `Accept: text/event-stream` the events come as they happen, and a client that was cut off goes on where it was by
//! sending the last id it saw as `Last-Event-ID`. The feed ends with the job.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{self, Stream};
use kiln_control::Denied;
use kiln_model::v0::{DateTime, JobEvent, Permission};
use kiln_model::{JobUuid, Status};
use kiln_store::sql::{job, job_event};
use kiln_store::{Bell, Listener, Query};
use serde::Deserialize;

use super::jobs;
use crate::app::{App, Shared};
use crate::error::ApiResult;
use crate::identity::Caller;

#[derive(Debug, Deserialize)]
pub(super) struct After {
    /// The number of the last event the caller has seen.
    #[serde(default)]
    after: i64,
}

/// More at once would be a download, not a timeline.
const MAX_EVENTS: i64 = 1_000;
/// Proxies cut connections that are silent for longer.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) async fn list_events(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
    UrlQuery(after): UrlQuery<After>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let read = move |query: &mut dyn Query| {
        jobs::find(query, &caller, &project_ref, uuid, Permission::View)
    };
    let found = app.store.reader.read(read).await?;
    if !wants_feed(&headers) {
        let (events, _) = events_after(&app, found.id, after.after).await?;
        return Ok(Json(Vec::from(events)).into_response());
    }
    let seen = last_seen(&headers).unwrap_or(after.after);
    // Subscribed before the first look, so that no event is missed.
    let bell = app.store.bells.subscribe(Bell::Job(found.id));
    let keep_alive = KeepAlive::new().interval(KEEP_ALIVE);
    Ok(Sse::new(feed(app, found.id, seen, bell))
        .keep_alive(keep_alive)
        .into_response())
}

fn wants_feed(headers: &HeaderMap) -> bool {
    headers
        .get(header::ACCEPT)
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/event-stream"))
}

fn last_seen(headers: &HeaderMap) -> Option<i64> {
    headers.get("last-event-id")?.to_str().ok()?.parse().ok()
}

struct Feed {
    app: Shared,
    job: i64,
    seen: i64,
    bell: Listener,
    waiting: VecDeque<JobEvent>,
    is_over: bool,
}

fn feed(
    app: Shared,
    job: i64,
    seen: i64,
    bell: Listener,
) -> impl Stream<Item = Result<Event, Infallible>> {
    let feed = Feed {
        app,
        job,
        seen,
        bell,
        waiting: VecDeque::new(),
        is_over: false,
    };
    stream::unfold(feed, |mut feed| async move {
        let event = feed.next().await?;
        feed.seen = event.number;
        let data = serde_json::to_string(&event).expect("an event is plain data");
        let shown = Event::default()
            .id(event.number.to_string())
            .event(event.event)
            .data(data);
        Some((Ok(shown), feed))
    })
}

impl Feed {
    /// The next event; nothing when there will be none, or when our own trouble ends the feed: the client comes back.
    async fn next(&mut self) -> Option<JobEvent> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.is_over {
                return None;
            }
            let found = events_after(&self.app, self.job, self.seen).await;
            match found {
                Ok((events, is_over)) => (self.waiting, self.is_over) = (events, is_over),
                Err(error) => {
                    tracing::warn!(%error, "a feed of events was cut off");
                    return None;
                }
            }
            if self.waiting.is_empty() && !self.is_over {
                tokio::select! {
                    () = self.bell.heard() => {}
                    () = self.app.channels.shutdown().cancelled() => return None,
                }
            }
        }
    }
}

/// The events after `seen`, and whether the job is over.
async fn events_after(app: &App, id: i64, seen: i64) -> Result<(VecDeque<JobEvent>, bool), Denied> {
    let read = move |query: &mut dyn Query| {
        let is_over = match job::find(query, id)? {
            Some(job) => is_over(query, &job)?,
            None => true,
        };
        let events = job_event::after(query, id, seen, MAX_EVENTS)?;
        let full = i64::try_from(events.len()).is_ok_and(|count| count == MAX_EVENTS);
        Ok((events.into_iter().map(show).collect(), is_over && !full))
    };
    app.store.reader.read(read).await
}

/// A completed job is still to be processed, unless its output could not be read.
fn is_over(query: &mut dyn Query, job: &job::Job) -> Result<bool, Denied> {
    let unreadable = jobs::unreadable(query, job)?.is_some();
    Ok(job.life.status.is_ended() && (job.life.status != Status::Completed || unreadable))
}

fn show(row: job_event::JobEvent) -> JobEvent {
    JobEvent {
        number: row.number,
        event: row.what,
        from: row.from,
        to: row.to,
        epoch: row.epoch,
        actor: row.actor,
        detail: row.detail,
        at: DateTime(row.at),
    }
}
