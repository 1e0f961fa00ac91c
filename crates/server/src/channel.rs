//! How runners talk to the server: one WebSocket for a runner's whole life; or, as older runners do, a long poll for each
//! claim and a socket for each job.
//!
//! ```text
//!          ready                job
//! idle ───────────▶ polling ─────────▶ executing
//!  ▲  ▲ no_job / a terminal word │         │
//!  │  ╰──────────────────────────╯         │
//!  ╰─── completed, failed, canceled, cancel ╯
//! ```
//!
//! The channel decides nothing about a job: it turns words into calls of `control`, and what became of them into words.

mod assign;
mod claim_poll;
mod contact;
mod job_session;
mod offers;
mod registry;
mod session;
mod uploads;
mod words;

pub(crate) use claim_poll::{claim_job, renew_pull_token};
pub(crate) use job_session::open_job_channel;
pub(crate) use offers::Offers;
pub use offers::Releases;
pub(crate) use registry::Channels;
pub(crate) use uploads::{finish_upload, get_upload_progress, put_upload_chunk};

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use axum::response::Response;
use kiln_control::limits::{Limited, Who};
use kiln_control::live::MAX_PIECE_BYTES;
use kiln_model::Slot;
use kiln_model::v0::{LIVE_OUTPUT_HEADER, OUTPUT_LIMIT_HEADER, SLOTS_HEADER};
use kiln_store::sql::runner::{self, Runner};
use serde::Deserialize;

use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};
use crate::identity::bearer;
use crate::key::{self, KeyKind};

/// The largest message, as stock servers have it. Larger ones are refused at the protocol level; runners of ours upload what
/// does not fit.
pub(crate) const MAX_MESSAGE: usize = 4 * 1024 * 1024;
/// What a runner may upload beside its messages; stock runners overlook it.
const OUTPUT_LIMIT: HeaderName = HeaderName::from_static(OUTPUT_LIMIT_HEADER);
/// What a runner may tell while a job runs, in one message; stock runners overlook it.
const LIVE_OUTPUT: HeaderName = HeaderName::from_static(LIVE_OUTPUT_HEADER);
/// How many slots a runner may have; stock runners overlook it.
const SLOTS: HeaderName = HeaderName::from_static(SLOTS_HEADER);
/// Small, because there may be ten thousand idle channels.
const BUFFER: usize = 1024;

/// Which slot of its runner a channel is for: none is the whole runner.
#[derive(Debug, Deserialize)]
pub(crate) struct Slots {
    slot: Option<u32>,
    slots: Option<u32>,
}

impl Slots {
    fn read(&self) -> ApiResult<Slot> {
        let slot = match (self.slot, self.slots) {
            (None, None) => Some(Slot::WHOLE),
            (Some(number), Some(of)) => Slot::new(number, of),
            (Some(_), None) | (None, Some(_)) => None,
        };
        slot.ok_or_else(|| {
            ApiError::bad_request(format!(
                "`slot` and `slots` go together, `slots` is from 1 to {}, and `slot` is from 0 and below `slots`",
                Slot::MOST
            ))
        })
    }
}

/// `GET /v0/runners/{runner}/channel`, with `?slot=0&slots=2` for one slot of a runner that has two.
pub(crate) async fn open_channel(
    State(app): State<Shared>,
    Path(reference): Path<String>,
    UrlQuery(slots): UrlQuery<Slots>,
    parts: Parts,
    upgrade: WebSocketUpgrade,
) -> ApiResult<Response> {
    let runner = authenticate(&app, reference, &parts).await?;
    let slot = slots.read()?;
    let who = match slot.number() {
        0 => Who::Row(runner.id),
        number => Who::Slot(runner.id, number),
    };
    app.limits.take(Limited::RunnerConnects, who, app.wall())?;
    let output_limit = app.output_limit;
    let answer = limited(upgrade).on_upgrade(move |socket| session::run(app, runner, slot, socket));
    let mut answer = with_offers(answer, output_limit);
    answer
        .headers_mut()
        .insert(SLOTS, HeaderValue::from(Slot::MOST));
    Ok(answer)
}

/// Says what a runner may do beside its messages.
fn with_offers(mut answer: Response, output_limit: u64) -> Response {
    let headers = answer.headers_mut();
    headers.insert(OUTPUT_LIMIT, HeaderValue::from(output_limit));
    headers.insert(LIVE_OUTPUT, HeaderValue::from(MAX_PIECE_BYTES));
    answer
}

/// The runner that both the path and the credential name.
async fn authenticate(app: &App, reference: String, parts: &Parts) -> ApiResult<Runner> {
    let credential = bearer(parts)
        .filter(|credential| credential.starts_with(KeyKind::Runner.prefix()))
        .ok_or_else(ApiError::unauthorized)?;
    let hash = key::hash(credential);
    app.store
        .reader
        .read(move |query| runner::authenticate(query, &reference, &hash))
        .await?
        .ok_or_else(ApiError::unauthorized)
}

fn limited(upgrade: WebSocketUpgrade) -> WebSocketUpgrade {
    upgrade
        .max_message_size(MAX_MESSAGE)
        .max_frame_size(MAX_MESSAGE)
        .read_buffer_size(BUFFER)
        .write_buffer_size(0)
}
