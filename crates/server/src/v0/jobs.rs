//! Jobs of a project.

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::{HeaderMap, StatusCode};
use kiln_control::bench::{self, RetryRun};
use kiln_control::{Denied, access, jobs, live};
use kiln_model::v0::{DateTime, Job, JobOutput, Permission, Waiting};
use kiln_model::{JobUuid, ReportUuid, Status};
use kiln_store::sql::job::{self, Listing};
use kiln_store::sql::{job_output, report, runner, spec};
use kiln_store::{ObjectKey, Query, Tx};
use serde::Deserialize;

use super::listing::Listed;
use crate::app::{App, Shared};
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::view;

#[derive(Debug, Deserialize)]
pub(super) struct Filter {
    #[serde(default = "default_per_page")]
    per_page: u8,
    /// 0 and 1 are both the first.
    #[serde(default)]
    page: u32,
    status: Option<Status>,
    direction: Option<Direction>,
    #[serde(rename = "sort")]
    _sort: Option<Sort>,
}

/// There is one order; asking for another is refused.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Sort {
    Created,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Direction {
    Asc,
    Desc,
}

const fn default_per_page() -> u8 {
    8
}

pub(super) async fn list_jobs(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project_ref): Path<String>,
    UrlQuery(filter): UrlQuery<Filter>,
) -> ApiResult<Listed<Job>> {
    let limit = i64::from(filter.per_page);
    let listing = Listing {
        status: filter.status,
        oldest_first: filter.direction == Some(Direction::Asc),
        limit,
        offset: limit * i64::from(filter.page.saturating_sub(1)),
    };
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project_ref, Permission::View)?;
        let total = job::count_of_project(query, project.id, listing.status)?;
        let found = job::of_project(query, project.id, listing)?;
        let items = found
            .iter()
            .map(|job| show(query, job))
            .collect::<Result<Vec<_>, Denied>>()?;
        Ok::<_, Denied>(Listed { items, total })
    };
    Ok(app.store.reader.read(read).await?)
}

pub(super) async fn get_job(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
    headers: HeaderMap,
) -> ApiResult<Json<Job>> {
    let read = move |query: &mut dyn Query| {
        let found = find(query, &caller, &project_ref, uuid, Permission::View)?;
        // What a program wrote is for those who can be named.
        let may_see = found.life.status.is_ended() && !caller.is_anonymous();
        let written = if may_see {
            written(query, &found)?
        } else {
            None
        };
        let unreadable = unreadable(query, &found)?;
        Ok::<_, Denied>((show(query, &found)?, written, unreadable))
    };
    let (mut shown, written, unreadable) = app.store.reader.read(read).await?;
    if let Some(written) = written {
        let mut output = match written {
            Written::Stored(output) => load(&app, output).await?,
            Written::Partial(output) => output,
        };
        // Where stock clients look for a reason.
        output.error = output.error.or_else(|| shown.error.clone());
        shown.output = Some(output);
    }
    if let Some(reason) = unreadable.filter(|_| is_stock_client(&headers)) {
        shown.status = Status::Failed;
        shown.output.get_or_insert_default().error = Some(reason);
    }
    Ok(Json(shown))
}

/// What is there of a job's output.
pub(super) enum Written {
    Stored(job_output::JobOutput),
    /// The runner never delivered one: what it told while the job ran.
    Partial(JobOutput),
}

pub(super) fn written<Q: Query + ?Sized>(
    query: &mut Q,
    found: &job::Job,
) -> Result<Option<Written>, Denied> {
    let (id, epoch) = (found.id, found.life.epoch);
    if let Some(stored) = job_output::find(query, id, epoch)? {
        return Ok(Some(Written::Stored(stored)));
    }
    Ok(live::partial_output(query, id, epoch)?.map(Written::Partial))
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

/// Does an ended job again, as a new job that names it.
pub(super) async fn retry_job(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
) -> ApiResult<(StatusCode, Json<Job>)> {
    let (wall, entropy) = (app.wall(), &*app.entropy);
    let retry = RetryRun {
        job: JobUuid::mint(wall, entropy),
        report: ReportUuid::mint(wall, entropy),
        account: caller.account().map(|account| account.id),
        actor: caller.actor(),
    };
    let submit = move |tx: &mut dyn Tx| {
        let found = find(tx, &caller, &project_ref, uuid, Permission::Create)?;
        let made = bench::retry_run(tx, &found, &retry)?;
        show(tx, &made)
    };
    let made = app.store.ledger.submit(submit).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// Why a job waits.
pub(super) async fn explain_job(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, JobUuid)>,
) -> ApiResult<Json<Waiting>> {
    let wall = app.wall();
    let read = move |query: &mut dyn Query| {
        let found = find(query, &caller, &project_ref, uuid, Permission::View)?;
        jobs::waiting(query, &found, wall)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

/// No output that came through a channel is longer.
const MAX_OUTPUT: u64 = 64 << 20;

pub(super) fn find<Q: Query + ?Sized>(
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
    let retry_of = match found.ask.retry_of {
        Some(id) => job::find(query, id)?,
        None => None,
    };
    let unreadable = unreadable(query, found)?;
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
        error: unreadable.or_else(|| found.life.message.clone()),
        retry_of: retry_of.as_ref().map(view::job_uuid).transpose()?,
    })
}

/// Why the output of a completed job could not be read, if it could not.
pub(super) fn unreadable<Q: Query + ?Sized>(
    query: &mut Q,
    found: &job::Job,
) -> Result<Option<String>, Denied> {
    let (Status::Completed, Some(id)) = (found.life.status, found.ask.report) else {
        return Ok(None);
    };
    let report = report::find(query, id)?;
    Ok(report
        .filter(|report| report.status == "invalid")
        .map(|report| report.error.unwrap_or_default()))
}

pub(super) async fn load(app: &App, output: job_output::JobOutput) -> ApiResult<JobOutput> {
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

pub(super) fn corrupt(error: &dyn std::error::Error) -> ApiError {
    ApiError::from(kiln_store::Error::Corrupt {
        what: format!("a job's output: {error}"),
    })
}
