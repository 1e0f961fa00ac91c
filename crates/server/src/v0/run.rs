//! Submitting a run.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use kiln_control::Denied;
use kiln_control::bench::{self, ImageReference, RunSettings, Submission, Submitted, Work};
use kiln_model::v0::{NewRun, Report};
use kiln_model::{
    BranchUuid, Digest, HeadUuid, JobUuid, KeyUuid, OrganizationUuid, ProjectUuid, ReportUuid,
    TestbedUuid,
};
use kiln_store::sql::branch::NewBranch;
use kiln_store::sql::project::Project;
use kiln_store::sql::{registry, report};
use kiln_store::{Query, Tx};

use super::reports;
use crate::app::Shared;
use crate::body::Body;
use crate::error::{ApiError, ApiResult};
use crate::identity::Caller;
use crate::limits;
use crate::metrics::{Count, Span};
use crate::source_address::source_address;

pub(super) async fn submit_run(
    State(app): State<Shared>,
    Caller(caller): Caller,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Body(run): Body<NewRun>,
) -> ApiResult<(StatusCode, Json<Report>)> {
    let (wall, entropy) = (app.wall(), &*app.entropy);
    let began = app.clock.monotonic();
    let source = source_address(peer, &headers, &app.trusted_proxies);
    let counted = limits::runs_of(&caller, source);
    if let Some((limited, who)) = counted {
        app.limits.check(limited, who, wall)?;
    }
    let settings = RunSettings::check(run.settings.as_ref())?;
    let key = run.idempotency_key.as_deref();
    if key.is_some_and(|key| key.parse::<KeyUuid>().is_err()) {
        return Err(ApiError::bad_request(
            "unable to parse JSON body: idempotency_key: it is a UUID",
        ));
    }
    let parsing = app.clock.monotonic();
    let work = Work::of(&run, settings)?;
    let has_results = matches!(work, Work::Results { .. });
    if has_results {
        app.time(Span::ReportProcess, parsing);
    }
    let submission = Submission {
        work,
        settings,
        run,
        caller,
        source_address: Some(source.to_string()),
        report: ReportUuid::mint(wall, entropy),
        job: JobUuid::mint(wall, entropy),
        project: ProjectUuid::mint(wall, entropy),
        organization: OrganizationUuid::mint(wall, entropy),
        branch: NewBranch {
            uuid: BranchUuid::mint(wall, entropy),
            head: HeadUuid::mint(wall, entropy),
        },
        testbed: TestbedUuid::mint(wall, entropy),
    };
    let (project, organization) = (submission.project, submission.organization);
    let inside = Arc::clone(&app);
    let submit = move |tx: &mut dyn Tx| {
        let submitted = bench::submit_run(tx, &submission, &inside.bench, resolve)?;
        let homes = match &submitted {
            Submitted::New { scene, .. } => Some(limits::homes(&scene.project)),
            Submitted::Before { .. } => None,
        };
        for (limited, who) in homes.iter().flatten() {
            inside.limits.check(*limited, *who, wall)?;
        }
        let made = match submitted {
            Submitted::New {
                report,
                job: Some(job),
                scene,
            } => {
                let account = submission.caller.account();
                let shown = reports::show_new(tx, &report, &job, &scene, account)?;
                Made::Shown(Box::new(shown))
            }
            Submitted::New {
                report, job: None, ..
            }
            | Submitted::Before { report } => Made::Stored(Box::new(report)),
        };
        Ok::<_, Denied>((made, homes))
    };
    let writing = app.clock.monotonic();
    let (made, homes) = app.store.ledger.submit(submit).await?;
    if has_results && homes.is_some() {
        app.time(Span::ReportWrite, writing);
    }
    let report = match made {
        Made::Shown(report) => *report,
        Made::Stored(row) => {
            let read = move |query: &mut dyn Query| reports::show(query, &row);
            app.store.reader.read(read).await?
        }
    };
    if let Some(homes) = homes {
        for (limited, who) in homes.into_iter().chain(counted) {
            app.limits.count(limited, who, wall);
        }
        reports::count_created(&app, &report, began);
    }
    app.metrics.count_begun(
        report.project.uuid == project,
        report.project.organization == organization,
    );
    app.metrics.count(Count::RunCreate);
    Ok((StatusCode::CREATED, Json(report)))
}

/// What came of a run.
enum Made {
    /// A job has no numbers yet: its report is shown at once.
    Shown(Box<Report>),
    /// Results take their time to show, and nobody is to wait for that in order to write.
    Stored(Box<report::Report>),
}

/// The image that a tag of a project's own registry names now.
fn resolve(
    tx: &mut dyn Tx,
    project: &Project,
    image: &ImageReference<'_>,
    tag: &str,
) -> Result<Digest, Denied> {
    let uuid = project.uuid.to_string();
    let repository = image.repository(project.slug.as_str(), &uuid);
    registry::resolve(tx, project.id, repository, tag)?.ok_or_else(|| {
        Denied::Invalid(format!(
            "Failed to resolve image tag for `{}`: Manifest not found: {tag}. Push the image to this server's registry first.",
            image.text()
        ))
    })
}
