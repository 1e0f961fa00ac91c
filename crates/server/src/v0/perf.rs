//! The perf query: metrics over time, as JSON or CSV.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Query as UrlQuery, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use kiln_control::bench::{Line, PerfQuery, Point, perf_lines};
use kiln_control::{Denied, access};
use kiln_model::v0::{self, DateTime, OneMetric, Perf, PerfLine, PerfMetric, Permission, Version};
use kiln_model::{GitHash, Millis};
use kiln_store::Query;
use kiln_store::sql::project::Project;
use kiln_store::sql::{alert, branch, metric, report, testbed};
use serde::Deserialize;

use super::csv::{self, Cell};
use super::show::{Show, alert_summary, boundary, iteration, stored};
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::view;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct UrlPerf {
    branches: String,
    testbeds: String,
    benchmarks: String,
    measures: String,
    heads: Option<String>,
    specs: Option<String>,
    start_time: Option<i64>,
    end_time: Option<i64>,
    /// Ours: mark where lines change.
    #[serde(default)]
    pub(super) change_points: bool,
    /// Ours: `json` or `csv`.
    format: Option<String>,
}

impl UrlPerf {
    pub(super) fn query(&self) -> ApiResult<PerfQuery> {
        Ok(PerfQuery {
            branches: list("branches", &self.branches)?,
            heads: positions(self.heads.as_deref()),
            testbeds: list("testbeds", &self.testbeds)?,
            specs: positions(self.specs.as_deref()),
            benchmarks: list("benchmarks", &self.benchmarks)?,
            measures: list("measures", &self.measures)?,
            start_time: self.start_time.map(Millis),
            end_time: self.end_time.map(Millis),
        })
    }
}

pub(super) async fn get_perf(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path(project): Path<String>,
    UrlQuery(url): UrlQuery<UrlPerf>,
) -> ApiResult<Response> {
    let asked = url.query()?;
    let csv = match url.format.as_deref() {
        None | Some("json") => false,
        Some("csv") => true,
        Some(_) => return Err(ApiError::bad_request("`format` is json or csv")),
    };
    let inside = Arc::clone(&app);
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let changes = url.change_points.then_some(&inside.changes);
        let lines = perf_lines(query, project.id, &asked, changes)?;
        if csv {
            return Ok::<_, Denied>((CSV, to_csv(&lines).into_bytes()));
        }
        let perf = show(query, &project, &asked, lines)?;
        // Megabytes are written by the thread that read them, not by one that others wait for.
        let text = serde_json::to_vec(&perf).expect("lines are plain data");
        Ok((JSON, text))
    };
    let (kind, text) = app.store.reader.read(read).await?;
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

const JSON: &str = "application/json";
const CSV: &str = "text/csv; charset=utf-8";

pub(super) async fn get_metric(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project, uuid)): Path<(String, String)>,
) -> ApiResult<Json<OneMetric>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project, Permission::View)?;
        let (placed, testbed_id) =
            metric::find_in_project(query, project.id, &uuid)?.ok_or(Denied::NotFound("metric"))?;
        let found = placed.metric;
        let report = report::find(query, found.report)?.ok_or(Denied::NotFound("report"))?;
        let head = report::head(query, report.id)?.ok_or(Denied::NotFound("head"))?;
        let branch = branch::find(query, report.branch)?.ok_or(Denied::NotFound("branch"))?;
        let testbed = testbed::find(query, testbed_id)?.ok_or(Denied::NotFound("testbed"))?;
        let alerts = alert::of_report(query, report.id)?;
        let alert = alerts
            .iter()
            .find(|alert| (alert.series, alert.iteration) == (found.series, found.iteration));
        let version = Version {
            number: report.version,
            hash: report.git_hash.clone(),
        };
        let mut show = Show::new(query, &project);
        Ok::<_, Denied>(OneMetric {
            uuid: found.uuid,
            report: report.uuid,
            iteration: iteration(found.iteration),
            start_time: DateTime(report.start_time),
            end_time: DateTime(report.end_time),
            branch: show.branch_at(&branch, head, Some(version))?,
            testbed: show.testbed(&testbed)?,
            benchmark: show.benchmark_of(placed.benchmark)?,
            measure: show.measure_of(placed.measure)?,
            metric: stored(&found),
            threshold: match found.judged {
                Some(judged) => Some(show.judged_by(judged)?),
                None => None,
            },
            boundary: found.judged.map(boundary),
            alert: alert.map(alert_summary),
        })
    };
    Ok(Json(app.store.reader.read(read).await?))
}

fn show(
    query: &mut dyn Query,
    project: &Project,
    asked: &PerfQuery,
    lines: Vec<Line>,
) -> Result<Perf, Denied> {
    let mut show = Show::new(query, project);
    let results = lines.into_iter().map(|line| show_line(&mut show, line));
    Ok(Perf {
        results: results.collect::<Result<_, Denied>>()?,
        project: view::project(project),
        start_time: asked.start_time.map(DateTime),
        end_time: asked.end_time.map(DateTime),
    })
}

fn show_line<Q: Query + ?Sized>(show: &mut Show<'_, Q>, line: Line) -> Result<PerfLine, Denied> {
    let version = line.points.last().map(version_of);
    Ok(PerfLine {
        branch: show.branch_at(&line.branch, line.head, version)?,
        testbed: show.testbed(&line.testbed)?,
        benchmark: show.benchmark(&line.benchmark),
        measure: show.measure(&line.measure),
        change_points: line.change_points.map(|changes| {
            let shown = changes.into_iter().map(|change| v0::ChangePoint {
                index: change.index,
                before: change.before,
                after: change.after,
                probability: change.probability,
            });
            shown.collect()
        }),
        metrics: line
            .points
            .into_iter()
            .map(|point| show_point(show, &point))
            .collect::<Result<_, Denied>>()?,
    })
}

fn show_point<Q: Query + ?Sized>(
    show: &mut Show<'_, Q>,
    point: &Point,
) -> Result<PerfMetric, Denied> {
    Ok(PerfMetric {
        report: point.stop.uuid,
        iteration: iteration(point.metric.iteration),
        start_time: DateTime(point.stop.start_time),
        end_time: DateTime(point.stop.end_time),
        version: version_of(point),
        threshold: match point.metric.judged {
            Some(judged) => Some(show.judged_by(judged)?),
            None => None,
        },
        metric: stored(&point.metric),
        boundary: point.metric.judged.map(boundary),
        alert: point.alert.as_ref().map(alert_summary),
    })
}

fn version_of(point: &Point) -> Version {
    Version {
        number: point.stop.version,
        hash: point.stop.git_hash.clone(),
    }
}

const COLUMNS: [&str; 17] = [
    "branch",
    "testbed",
    "benchmark",
    "measure",
    "units",
    "version",
    "hash",
    "report",
    "start_time",
    "iteration",
    "value",
    "lower_value",
    "upper_value",
    "baseline",
    "lower_limit",
    "upper_limit",
    "alert",
];

fn to_csv(lines: &[Line]) -> String {
    let mut text = csv::row(COLUMNS.map(Cell::Text));
    for line in lines {
        for point in &line.points {
            let metric = &point.metric;
            let judged = metric.judged;
            let (report, hash) = (point.stop.uuid.to_string(), &point.stop.git_hash);
            let start = DateTime(point.stop.start_time).to_string();
            text += &csv::row([
                Cell::Text(line.branch.name.as_str()),
                Cell::Text(line.testbed.name.as_str()),
                Cell::Text(&line.benchmark.name),
                Cell::Text(line.measure.slug.as_str()),
                Cell::Text(&line.measure.units),
                Cell::Count(i64::from(point.stop.version)),
                Cell::Text(hash.as_ref().map_or("", GitHash::as_str)),
                Cell::Text(&report),
                Cell::Text(&start),
                Cell::Count(metric.iteration),
                Cell::Number(Some(metric.value)),
                Cell::Number(metric.lower_value),
                Cell::Number(metric.upper_value),
                Cell::Number(judged.and_then(|judged| judged.baseline)),
                Cell::Number(judged.and_then(|judged| judged.lower_limit)),
                Cell::Number(judged.and_then(|judged| judged.upper_limit)),
                Cell::Text(point.alert.as_ref().map_or("", |alert| &alert.status)),
            ]);
        }
    }
    text
}

fn list(name: &str, text: &str) -> ApiResult<Vec<String>> {
    let items: Vec<String> = text
        .split(',')
        .filter(|item| !item.is_empty())
        .map(str::to_owned)
        .collect();
    if items.is_empty() {
        return Err(ApiError::bad_request(format!("`{name}` names nothing")));
    }
    Ok(items)
}

/// Empty places stand for "any".
fn positions(text: Option<&str>) -> Vec<Option<String>> {
    let items = text.unwrap_or_default().split(',');
    items
        .map(|item| (!item.is_empty()).then(|| item.to_owned()))
        .collect()
}
