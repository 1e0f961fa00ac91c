//! A job's timeline: as a list, or live.
//!
//! With `Accept: text/event-stream` the events come as they happen, and a client that was cut off goes on where it was by
//! sending the last id it saw as `Last-Event-ID`. The feed ends with the job. With `?output=true` what the job writes comes
//! between the events, as events with the name `output`; ids are then the number of an event, a dot, and the number of
//! a piece of output.

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
use kiln_model::v0::{DateTime, JobEvent, LiveText, Permission};
use kiln_model::{JobUuid, Status};
use kiln_store::sql::{job, job_event, job_live};
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
    /// Whether what the job writes is wanted too.
    #[serde(default)]
    output: bool,
}

/// How far a client has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    event: i64,
    /// The last piece of output, if output is wanted.
    piece: Option<i64>,
}

impl Seen {
    fn read(id: &str, with_output: bool) -> Option<Self> {
        let (event, piece) = id.split_once('.').unwrap_or((id, "0"));
        let (event, piece) = (event.parse().ok()?, piece.parse().ok()?);
        Some(Self {
            event,
            piece: with_output.then_some(piece),
        })
    }

    fn id(self) -> String {
        match self.piece {
            None => self.event.to_string(),
            Some(piece) => format!("{}.{piece}", self.event),
        }
    }
}

/// What a feed tells.
enum Item {
    Event(JobEvent),
    Piece(i64, LiveText),
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
    // What a program writes is for those who can be named.
    let with_output = after.output && !caller.is_anonymous();
    let read = move |query: &mut dyn Query| {
        jobs::find(query, &caller, &project_ref, uuid, Permission::View)
    };
    let found = app.store.reader.read(read).await?;
    let mut seen = Seen {
        event: after.after,
        piece: None,
    };
    if !wants_feed(&headers) {
        let (items, _) = items_after(&app, found.id, seen).await?;
        let events = items.into_iter().filter_map(|item| match item {
            Item::Event(event) => Some(event),
            Item::Piece(..) => None,
        });
        return Ok(Json(events.collect::<Vec<_>>()).into_response());
    }
    seen.piece = with_output.then_some(0);
    let seen = last_seen(&headers, with_output).unwrap_or(seen);
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

fn last_seen(headers: &HeaderMap, with_output: bool) -> Option<Seen> {
    let id = headers.get("last-event-id")?.to_str().ok()?;
    Seen::read(id, with_output)
}

struct Feed {
    app: Shared,
    job: i64,
    seen: Seen,
    bell: Listener,
    waiting: VecDeque<Item>,
    is_over: bool,
}

fn feed(
    app: Shared,
    job: i64,
    seen: Seen,
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
        let item = feed.next().await?;
        let (name, data) = match item {
            Item::Event(event) => {
                feed.seen.event = event.number;
                let data = serde_json::to_string(&event);
                (event.event, data)
            }
            Item::Piece(number, text) => {
                feed.seen.piece = Some(number);
                ("output".to_owned(), serde_json::to_string(&text))
            }
        };
        let data = data.expect("an event is plain data");
        let shown = Event::default().id(feed.seen.id()).event(name).data(data);
        Some((Ok(shown), feed))
    })
}

impl Feed {
    /// The next event; nothing when there will be none, or when our own trouble ends the feed: the client comes back.
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.waiting.pop_front() {
                return Some(item);
            }
            if self.is_over {
                return None;
            }
            let found = items_after(&self.app, self.job, self.seen).await;
            match found {
                Ok((items, is_over)) => (self.waiting, self.is_over) = (items, is_over),
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

/// What comes after `seen`, and whether the job is over. Output comes before the events: the last of them ends the job.
async fn items_after(app: &App, id: i64, seen: Seen) -> Result<(VecDeque<Item>, bool), Denied> {
    let read = move |query: &mut dyn Query| {
        let found = job::find(query, id)?;
        let is_over = match &found {
            Some(job) => is_over(query, job)?,
            None => true,
        };
        let mut items = VecDeque::new();
        if let (Some(piece), Some(job)) = (seen.piece, &found) {
            let pieces = job_live::after(query, id, job.life.epoch, piece)?;
            items.extend(
                pieces
                    .into_iter()
                    .map(|(number, text)| Item::Piece(number, text)),
            );
        }
        let events = job_event::after(query, id, seen.event, MAX_EVENTS)?;
        let full = i64::try_from(events.len()).is_ok_and(|count| count == MAX_EVENTS);
        items.extend(events.into_iter().map(|event| Item::Event(show(event))));
        Ok((items, is_over && !full))
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
