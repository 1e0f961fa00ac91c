//! Reports.

use axum::Json;
use axum::extract::{Path, State};
use kiln_control::{Denied, access};
use kiln_model::v0::{
    Adapter, Branch, DateTime, Head, Metric, Permission, Report, ReportMeasure, ReportResult,
    Testbed, Version,
};
use kiln_store::Query;
use kiln_store::sql::report::ReportMetric;
use kiln_store::sql::{account, branch, job, project, report, spec, testbed};

use crate::app::Shared;
use crate::error::ApiResult;
use crate::identity::Caller;
use crate::view;

pub(super) async fn get_report(
    State(app): State<Shared>,
    Caller(caller): Caller,
    Path((project_ref, uuid)): Path<(String, String)>,
) -> ApiResult<Json<Report>> {
    let read = move |query: &mut dyn Query| {
        let project = access::project(query, &caller, &project_ref, Permission::View)?;
        let report =
            report::find_in_project(query, project.id, &uuid)?.ok_or(Denied::NotFound("report"))?;
        show(query, &report)
    };
    Ok(Json(app.store.reader.read(read).await?))
}

/// A report as clients see it.
pub(super) fn show<Q: Query + ?Sized>(
    query: &mut Q,
    row: &report::Report,
) -> Result<Report, Denied> {
    let project = project::find(query, row.project)?.ok_or(Denied::NotFound("project"))?;
    let branch = branch::find(query, row.branch)?.ok_or(Denied::NotFound("branch"))?;
    let testbed = testbed::find(query, row.testbed)?.ok_or(Denied::NotFound("testbed"))?;
    let job = job::of_report(query, row.id)?;
    let spec = match job.as_ref().and_then(|job| job.ask.spec) {
        Some(id) => spec::find(query, id)?,
        None => None,
    };
    let user = match row.account {
        Some(id) => account::find(query, id)?,
        None => None,
    };
    Ok(Report {
        uuid: row.uuid,
        user: user.as_ref().map(view::user_summary),
        branch: Branch {
            uuid: branch.uuid,
            project: project.uuid,
            name: branch.name,
            slug: branch.slug,
            head: Head {
                uuid: branch.head,
                version: Some(Version {
                    number: row.version,
                    hash: row.git_hash.clone(),
                }),
                created: DateTime(branch.created),
                replaced: None,
            },
            created: DateTime(branch.created),
            modified: DateTime(branch.modified),
            archived: None,
        },
        testbed: Testbed {
            uuid: testbed.uuid,
            project: project.uuid,
            name: testbed.name,
            slug: testbed.slug,
            spec: spec.as_ref().map(view::spec),
            created: DateTime(testbed.created),
            modified: DateTime(testbed.modified),
            archived: None,
        },
        project: view::project(&project),
        start_time: DateTime(row.start_time),
        end_time: DateTime(row.end_time),
        adapter: adapter(row),
        results: results(report::metrics(query, row.id)?),
        job: job.as_ref().map(view::job_uuid).transpose()?,
        created: DateTime(row.created),
        status: Some(row.status.clone()),
        error: row.error.clone(),
    })
}

/// A newer server beside this one may know adapters that this one does not.
fn adapter(row: &report::Report) -> Adapter {
    row.adapter
        .parse::<Adapter>()
        .unwrap_or_default()
        .normalized()
}

/// Rows in order of iteration and benchmark, gathered.
fn results(rows: Vec<ReportMetric>) -> Vec<Vec<ReportResult>> {
    let mut iterations: Vec<Vec<ReportResult>> = Vec::new();
    let mut current = None;
    for row in rows {
        let iteration = u32::try_from(row.iteration).unwrap_or(u32::MAX);
        if current != Some(iteration) {
            current = Some(iteration);
            iterations.push(Vec::new());
        }
        let Some(results) = iterations.last_mut() else {
            continue;
        };
        let measure = ReportMeasure {
            measure: row.measure,
            metric: Metric {
                value: row.value,
                lower_value: row.lower_value,
                upper_value: row.upper_value,
            },
        };
        match results
            .last_mut()
            .filter(|last| last.benchmark == row.benchmark)
        {
            Some(last) => last.measures.push(measure),
            None => results.push(ReportResult {
                iteration,
                benchmark: row.benchmark,
                measures: vec![measure],
            }),
        }
    }
    iterations
}
