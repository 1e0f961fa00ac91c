//! Jobs of a project.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::HeaderMap;
use kiln_control::{Denied, access, jobs};
use kiln_model::v0::{DateTime, Job, JobEvent, JobOutput, Permission};
use kiln_model::{JobUuid, Status};
use kiln_store::sql::{job, job_event, job_output, report, runner, spec};
use kiln_store::{ObjectKey, Query, Tx};
use serde::Deserialize;

use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::view;

#[derive(Debug, Deserialize)]
pub(super) struct Paging {
    #[serde(default = "default_per_page")]
    per_page: u8,
    /// 0 and 1 are both the first.
    #[serde(default)]
    page: u32,
}

const fn default_per_page() -> u8 {
    8
}

pub(super) async fn list_jobs(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project_ref): Path<String>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Json<Vec<Job>>> {
    let limit = i64::from(paging.per_page);
    let offset = limit * i64::from(paging.page.saturating_sub(1));
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project_ref, Permission::View)?;
        let found = job::of_project(query, project.id, limit, offset)?;
        found
            .iter()
            .map(|job| show(query, job))
            .collect::<Result<Vec<_>, Denied>>()
    };
    Ok(Json(app.store.reader.read(read).await?))
}

pub(super) async fn get_job(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
    headers: HeaderMap,
) -> ApiResult<Json<Job>> {
    let read = move |query: &mut dyn Query| {
        let found = find(query, &caller, &project_ref, uuid, Permission::View)?;
        let output = job_output::find(query, found.id, found.life.epoch)?;
        Ok::<_, Denied>((
            show(query, &found)?,
            // What a program wrote is for those who can be named.
            output.filter(|_| found.life.status.is_ended() && !caller.is_anonymous()),
            unreadable(query, &found)?,
        ))
    };
    let (mut shown, output, unreadable) = app.store.reader.read(read).await?;
    if let Some(output) = output {
        shown.output = Some(load(&app, output).await?);
    }
    if let Some(reason) = unreadable.filter(|_| is_stock_client(&headers)) {
        shown.status = Status::Failed;
        shown.output.get_or_insert_default().error = Some(reason);
    }
    Ok(Json(shown))
}

/// Why the report of a completed job has no numbers, if it never will have any.
fn unreadable(query: &mut dyn Query, found: &job::Job) -> Result<Option<String>, Denied> {
    let report = match found.ask.report {
        Some(id) if found.life.status == Status::Completed => report::find(query, id)?,
        _ => None,
    };
    let invalid = report.filter(|report| report.status == "invalid");
    Ok(invalid.and_then(|report| report.error))
}

/// Stock clients wait for `processed` and know no other end of a completed job; they tell their version in every request.
fn is_stock_client(headers: &HeaderMap) -> bool {
    headers.contains_key("api-version")
}

pub(super) async fn cancel_job(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
) -> ApiResult<Json<Job>> {
    let actor = caller.actor();
    let cancel = move |tx: &mut dyn Tx| {
        let found = find(tx, &caller, &project_ref, uuid, Permission::Edit)?;
        jobs::cancel(tx, found.id, &actor)?;
        let now = job::find(tx, found.id)?.ok_or(Denied::NotFound("job"))?;
        show(tx, &now)
    };
    Ok(Json(app.store.ledger.submit(cancel).await?))
}

#[derive(Debug, Deserialize)]
pub(super) struct After {
    /// The number of the last event the caller has seen.
    #[serde(default)]
    after: i64,
}

/// No output that came through a channel is longer.
const MAX_OUTPUT: u64 = 64 << 20;
/// More at once would be a download, not a timeline.
const MAX_EVENTS: i64 = 1_000;

pub(super) async fn list_events(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
    UrlQuery(after): UrlQuery<After>,
) -> ApiResult<Json<Vec<JobEvent>>> {
    let read = move |query: &mut dyn Query| {
        let found = find(query, &caller, &project_ref, uuid, Permission::View)?;
        let events = job_event::after(query, found.id, after.after, MAX_EVENTS)?;
        Ok::<_, Denied>(events.into_iter().map(event).collect::<Vec<_>>())
    };
    Ok(Json(app.store.reader.read(read).await?))
}

fn event(row: job_event::JobEvent) -> JobEvent {
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

fn find<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &access::Caller,
    project_ref: &str,
    uuid: JobUuid,
    permission: Permission,
) -> Result<job::Job, Denied> {
    let project = access::project(query, caller, project_ref, permission)?;
    job::find_public(query, &uuid.to_string())?
        .filter(|job| job.ask.project == Some(project.id))
        .ok_or(Denied::NotFound("job"))
}

/// A job as clients see it, without its output.
fn show<Q: Query + ?Sized>(query: &mut Q, found: &job::Job) -> Result<Job, Denied> {
    let spec = found.ask.spec.ok_or(Denied::NotFound("spec"))?;
    let spec = spec::find(query, spec)?.ok_or(Denied::NotFound("spec"))?;
    let runner = match found.life.runner {
        Some(id) => runner::find(query, id)?.map(|runner| runner.uuid),
        None => None,
    };
    Ok(Job {
        uuid: view::job_uuid(found)?,
        status: found.life.status,
        spec: view::spec(&spec),
        config: None,
        runner,
        claimed: found.life.claimed.map(DateTime),
        started: found.life.started.map(DateTime),
        completed: found.life.ended.map(DateTime),
        created: DateTime(found.ask.created),
        modified: DateTime(found.life.modified),
        output: None,
    })
}

async fn load(app: &App, output: job_output::JobOutput) -> ApiResult<JobOutput> {
    let bytes = match (output.body, output.object_key) {
        (Some(body), _) => body,
        (None, Some(key)) => {
            let key = ObjectKey::parse(&key).map_err(|error| corrupt(&error))?;
            let reader = app.store.objects.read_named(&key, &output.digest).await?;
            reader.collect(MAX_OUTPUT).await?.to_vec()
        }
        (None, None) => return Err(ApiError::not_found("output")),
    };
    serde_json::from_slice(&bytes).map_err(|error| corrupt(&error))
}

fn corrupt(error: &dyn std::error::Error) -> ApiError {
    ApiError::from(kiln_store::Error::Corrupt {
        what: format!("a job's output: {error}"),
    })
}
