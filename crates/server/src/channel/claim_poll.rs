//! The older transport's claim: a request that waits for a job.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::request::Parts;
use kiln_control::Denied;
use kiln_control::limits::{Limited, Who};
use kiln_model::v0::{ClaimRequest, ClaimedJob, PullToken};
use kiln_model::{JobUuid, Slot};
use kiln_store::sql::runner::Runner;
use kiln_store::sql::{job, project};
use kiln_store::{Bell, Listener, Query};
use tokio::time::{Instant, sleep_until};

use super::contact::Contact;
use super::{assign, authenticate};
use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};

/// Seconds to wait when the request does not say.
const DEFAULT_POLL: u32 = 30;
/// Longer waits are cut to this.
const MAX_POLL: u32 = 600;

/// `POST /v0/runners/{runner}/jobs`: the next job, or `null` when none came in time.
pub(crate) async fn claim_job(
    State(app): State<Shared>,
    Path(reference): Path<String>,
    parts: Parts,
    body: Bytes,
) -> ApiResult<Json<Option<ClaimedJob>>> {
    let runner = authenticate(&app, reference, &parts).await?;
    let who = Who::Row(runner.id);
    app.limits.take(Limited::RunnerConnects, who, app.wall())?;
    let asked = read(&body)?.poll_timeout.unwrap_or(DEFAULT_POLL);
    let seconds = u64::from(asked.min(MAX_POLL));
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let mut contact = Some(Contact::new(&app, &runner, None));
    let (mut lanes, mut bells) = (Vec::new(), listen(&app, &runner, &[]));
    loop {
        let next = assign::next(&app, &runner, Slot::WHOLE, contact.take()).await?;
        if let Some(assignment) = next.assignment {
            return Ok(Json(Some(assignment.claimed)));
        }
        if next.lanes != lanes {
            // It listens first, and looks again, so that no bell is missed.
            lanes = next.lanes;
            bells = listen(&app, &runner, &lanes);
            continue;
        }
        tokio::select! {
            () = bells.heard() => {}
            () = sleep_until(deadline) => return Ok(Json(None)),
            () = app.channels.shutdown().cancelled() => return Ok(Json(None)),
        }
    }
}

fn listen(app: &App, runner: &Runner, lanes: &[i64]) -> Listener {
    let lanes = lanes.iter().copied().map(Bell::Lane);
    let bells = lanes.chain([Bell::Runner(runner.id)]);
    app.store.bells.subscribe_to(bells)
}

/// `POST /v0/runners/{runner}/jobs/{job}/token`: another pull token, while the runner holds the job.
pub(crate) async fn renew_pull_token(
    State(app): State<Shared>,
    Path((reference, uuid)): Path<(String, JobUuid)>,
    parts: Parts,
) -> ApiResult<Json<PullToken>> {
    let runner = authenticate(&app, reference, &parts).await?;
    let id = runner.id;
    let read = move |query: &mut dyn Query| {
        let held = job::find_public(query, &uuid.to_string())?
            .filter(|job| job.life.runner == Some(id) && job.life.status.is_in_flight())
            .ok_or(Denied::NotFound("job"))?;
        let project = held.ask.project.ok_or(Denied::NotFound("project"))?;
        project::find(query, project)?.ok_or(Denied::NotFound("project"))
    };
    let project = app.store.reader.read(read).await?;
    Ok(Json(PullToken {
        oci_token: assign::pull_token(&app, runner.uuid, project.uuid),
    }))
}

/// Old clients send no body at all.
fn read(body: &[u8]) -> ApiResult<ClaimRequest> {
    if body.is_empty() {
        return Ok(ClaimRequest::default());
    }
    serde_json::from_slice(body)
        .map_err(|error| ApiError::bad_request(format!("unable to parse JSON body: {error}")))
}
