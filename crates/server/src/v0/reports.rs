//! Reports.

use std::sync::Arc;

use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::StatusCode;
use axum::{Extension, Json};
use kiln_control::bench::{self, NewResults, Scene};
use kiln_control::{Denied, access, jobs};
use kiln_model::v0::{
    Adapter, Alert, AlertCounts, DateTime, NewReport, PairedOutcome, Permission, Report,
    ReportCounts, ReportMeasure, ReportResult, ResultCounts, UserSummary, Version,
};
use kiln_model::{Millis, ReportUuid};
use kiln_store::sql::account::Account;
use kiln_store::sql::branch::Branch;
use kiln_store::sql::report::Filter;
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::{account, alert, branch, job, metric, project, report, spec, testbed};
use kiln_store::{Query, Tx};
use serde::Deserialize;

use super::dimensions::id_of;
use super::listing::Listed;
use super::paging::{BY_DATE_TIME, Paging, listed};
use super::show::{Show, boundary, iteration, stored};
use crate::app::{App, Shared};
use crate::body::Body;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::limits::{self, Source};
use crate::metrics::{Count, Span};
use crate::view;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct ListQuery {
    branch: Option<String>,
    testbed: Option<String>,
    /// Milliseconds.
    start_time: Option<i64>,
    end_time: Option<i64>,
    /// Whether results and alerts come along.
    #[serde(default)]
    expand: bool,
    /// Those of what is archived.
    #[serde(default)]
    archived: bool,
}

pub(super) async fn list_reports(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(asked): UrlQuery<ListQuery>,
    UrlQuery(paging): UrlQuery<Paging>,
) -> ApiResult<Listed<Report>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let filter = Filter {
            branch: id_of::<Branch, _>(query, project.id, asked.branch.as_deref())?,
            testbed: id_of::<Testbed, _>(query, project.id, asked.testbed.as_deref())?,
            from: asked.start_time.map(Millis),
            to: asked.end_time.map(Millis),
            archived: asked.archived,
        };
        let detail = if asked.expand {
            Detail::Whole
        } else {
            Detail::Counts
        };
        let rows = report::list(query, project.id, filter, paging.page(BY_DATE_TIME, true)?)?;
        let rows = rows.iter().map(|row| show_with(query, row, detail));
        Ok::<_, Denied>(listed(
            rows.collect::<Result<_, Denied>>()?,
            report::count(query, project.id, filter)?,
        ))
    };
    Ok(app.store.reader.read(read).await?)
}

/// Results that the client measured itself.
pub(super) async fn create_report(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    source: Option<Extension<Source>>,
    Body(new): Body<NewReport>,
) -> ApiResult<(StatusCode, Json<Report>)> {
    let (wall, began) = (app.wall(), app.clock.monotonic());
    let address = source.map(|Extension(Source(address))| address);
    let counted = address.and_then(|address| limits::runs_of(&caller, address));
    if let Some((limited, who)) = counted {
        app.limits.check(limited, who, wall)?;
    }
    let uuid = ReportUuid::mint(wall, &*app.entropy);
    let results = NewResults::read(uuid, caller.account().map(|account| account.id), new)?;
    app.time(Span::ReportProcess, began);
    let read = app.clock.monotonic();
    let inside = Arc::clone(&app);
    let create = move |tx: &mut dyn Tx| {
        inside.bench.admits(&caller)?;
        let project = access::project(tx, &caller, &project, Permission::Create)?;
        let homes = limits::homes(&project);
        for (limited, who) in &homes {
            inside.limits.check(*limited, *who, wall)?;
        }
        let row = bench::submit_report(tx, project.id, &results)?;
        Ok::<_, Denied>((row, homes))
    };
    let (row, homes) = app.store.ledger.submit(create).await?;
    app.time(Span::ReportWrite, read);
    for (limited, who) in homes.into_iter().chain(counted) {
        app.limits.count(limited, who, wall);
    }
    // A large report takes its time to show, and nobody is to wait for that in order to write.
    let read = move |query: &mut dyn Query| show(query, &row);
    let report = app.store.reader.read(read).await?;
    count_created(&app, &report, began);
    Ok((StatusCode::CREATED, Json(report)))
}

pub(super) async fn get_report(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<Json<Report>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let report = row(query, project.id, &uuid)?;
        show(query, &report)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

/// A report whose job still runs would come back with its result, so the job is canceled first.
pub(super) async fn delete_report(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<StatusCode> {
    let actor = caller.actor();
    let delete = move |tx: &mut dyn Tx| {
        let project = access::project(tx, &caller, &project, Permission::Delete)?;
        let found = row(tx, project.id, &uuid)?;
        let job = job::of_report(tx, found.id)?;
        if let Some(job) = job.filter(|job| !job.life.status.is_ended()) {
            jobs::cancel(tx, job.id, &actor)?;
        }
        Ok::<_, Denied>(report::delete(tx, found.id)?)
    };
    app.store.ledger.submit(delete).await?;
    app.metrics.count(Count::ReportDelete);
    Ok(StatusCode::NO_CONTENT)
}

/// A new report, with the numbers that came along, was stored since `began`.
pub(super) fn count_created(app: &App, report: &Report, began: Millis) {
    let iterations = report.results.iter().flatten();
    let metrics = iterations.flatten().map(|result| result.measures.len());
    app.metrics.add(Count::MetricsCreate, metrics.sum());
    app.metrics.count(Count::ReportCreate);
    app.time(Span::ReportCreate, began);
}

fn row<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<report::Report, Denied> {
    report::find_in_project(query, project, uuid)?.ok_or(Denied::NotFound("report"))
}

/// What is shown of a report beside its row and its scene.
#[derive(Debug, Default)]
struct Contents {
    user: Option<UserSummary>,
    results: Option<Vec<Vec<ReportResult>>>,
    alerts: Option<Vec<Alert>>,
    counts: ReportCounts,
    paired: Option<Box<PairedOutcome>>,
}

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Detail {
    Counts,
    Whole,
}

/// A report as clients see it.
pub(super) fn show<Q: Query + ?Sized>(
    query: &mut Q,
    row: &report::Report,
) -> Result<Report, Denied> {
    show_with(query, row, Detail::Whole)
}

/// One whose job was just submitted, by `account` if it was a person: there is nothing in it yet.
pub(super) fn show_new<Q: Query + ?Sized>(
    query: &mut Q,
    row: &report::Report,
    job: &job::Job,
    scene: &Scene,
    account: Option<&Account>,
) -> Result<Report, Denied> {
    let contents = Contents {
        user: account.map(view::user_summary),
        results: Some(Vec::new()),
        alerts: Some(Vec::new()),
        ..Contents::default()
    };
    let head = scene.branch.head_id;
    let mut show = Show::new(query, &scene.project);
    assemble(&mut show, row, Some(job), (scene, head), contents)
}

fn show_with<Q: Query + ?Sized>(
    query: &mut Q,
    row: &report::Report,
    detail: Detail,
) -> Result<Report, Denied> {
    let job = job::of_report(query, row.id)?;
    let scene = scene_of(query, row, job.as_ref())?;
    let head = report::head(query, row.id)?.unwrap_or(scene.branch.head_id);
    let mut show = Show::new(query, &scene.project);
    let contents = contents(&mut show, row, detail)?;
    assemble(&mut show, row, job.as_ref(), (&scene, head), contents)
}

fn scene_of<Q: Query + ?Sized>(
    query: &mut Q,
    row: &report::Report,
    job: Option<&job::Job>,
) -> Result<Scene, Denied> {
    Ok(Scene {
        project: project::find(query, row.project)?.ok_or(Denied::NotFound("project"))?,
        branch: branch::find(query, row.branch)?.ok_or(Denied::NotFound("branch"))?,
        testbed: testbed::find(query, row.testbed)?.ok_or(Denied::NotFound("testbed"))?,
        spec: match job.and_then(|job| job.ask.spec) {
            Some(id) => spec::find(query, id)?,
            None => None,
        },
    })
}

fn contents<Q: Query + ?Sized>(
    show: &mut Show<'_, Q>,
    row: &report::Report,
    detail: Detail,
) -> Result<Contents, Denied> {
    let report = row.id;
    let account = match row.account {
        Some(id) => account::find(show.query, id)?,
        None => None,
    };
    let (results, alerts) = match detail {
        Detail::Counts => (None, None),
        Detail::Whole => {
            let results = results(show, report)?;
            let alerts = alert::of_report(show.query, report)?;
            let alerts = alerts.iter().map(|row| show.alert(row));
            (Some(results), Some(alerts.collect::<Result<_, Denied>>()?))
        }
    };
    let paired = report::paired(show.query, report)?;
    Ok(Contents {
        user: account.as_ref().map(view::user_summary),
        results,
        alerts,
        counts: counts(show.query, report)?,
        // One that this version cannot read is of a newer server beside it.
        paired: paired.and_then(|text| serde_json::from_str(&text).ok()),
    })
}

fn assemble<Q: Query + ?Sized>(
    show: &mut Show<'_, Q>,
    row: &report::Report,
    job: Option<&job::Job>,
    (scene, head): (&Scene, i64),
    contents: Contents,
) -> Result<Report, Denied> {
    let version = Version {
        number: row.version,
        hash: row.git_hash.clone(),
    };
    Ok(Report {
        uuid: row.uuid,
        user: contents.user,
        branch: show.branch_at(&scene.branch, head, Some(version))?,
        testbed: show.testbed_on(&scene.testbed, scene.spec.as_ref()),
        project: view::project(&scene.project),
        start_time: DateTime(row.start_time),
        end_time: DateTime(row.end_time),
        adapter: adapter(row),
        results: contents.results,
        alerts: contents.alerts,
        counts: contents.counts,
        job: job.map(view::job_uuid).transpose()?,
        created: DateTime(row.created),
        status: Some(row.status.clone()),
        error: row.error.clone(),
        paired: contents.paired,
    })
}

fn counts<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<ReportCounts, Denied> {
    let results = metric::counts(query, report)?.into_iter();
    let (total, active) = alert::count_of_report(query, report)?;
    Ok(ReportCounts {
        results: results
            .map(|(benchmarks, measures)| ResultCounts {
                benchmarks,
                measures,
            })
            .collect(),
        alerts: AlertCounts { total, active },
    })
}

/// A newer server beside this one may know adapters that this one does not.
fn adapter(row: &report::Report) -> Adapter {
    row.adapter
        .parse::<Adapter>()
        .unwrap_or_default()
        .normalized()
}

/// The metrics of a report, gathered by iteration and benchmark.
fn results<Q: Query + ?Sized>(
    show: &mut Show<'_, Q>,
    report: i64,
) -> Result<Vec<Vec<ReportResult>>, Denied> {
    show.benchmarks_of_report(report)?;
    let mut iterations: Vec<Vec<ReportResult>> = Vec::new();
    let mut current = None;
    for placed in metric::of_report(show.query, report)? {
        let iteration = iteration(placed.metric.iteration);
        let measure = ReportMeasure {
            measure: show.measure_of(placed.measure)?,
            metric: stored(&placed.metric),
            threshold: match placed.metric.judged {
                Some(judged) => Some(show.judged_by(judged)?),
                None => None,
            },
            boundary: placed.metric.judged.map(boundary),
        };
        if current.map(|(iteration, _)| iteration) != Some(iteration) {
            iterations.push(Vec::new());
        }
        let Some(results) = iterations.last_mut() else {
            continue;
        };
        match results.last_mut() {
            Some(last) if current == Some((iteration, placed.benchmark)) => {
                last.measures.push(measure);
            }
            _ => results.push(ReportResult {
                iteration,
                benchmark: show.benchmark_of(placed.benchmark)?,
                measures: vec![measure],
            }),
        }
        current = Some((iteration, placed.benchmark));
    }
    Ok(iterations)
}
