//! Submitting a run.

use std::net::SocketAddr;

use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::http::{HeaderMap, StatusCode};
use kiln_control::Denied;
use kiln_control::bench::{self, RunSettings, Submission, Submitted};
use kiln_model::v0::{NewRun, Report};
use kiln_model::{
    BranchUuid, Digest, HeadUuid, JobUuid, OrganizationUuid, ProjectUuid, ReportUuid, TestbedUuid,
};
use kiln_store::Tx;
use kiln_store::sql::branch::NewBranch;
use kiln_store::sql::project::Project;
use kiln_store::sql::registry;

use super::reports;
use crate::app::Shared;
use crate::error::ApiResult;
use crate::identity::User;
use crate::source_address::source_address;

pub(super) async fn submit_run(
    State(app): State<Shared>,
    User(account): User,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(run): Json<NewRun>,
) -> ApiResult<(StatusCode, Json<Report>)> {
    let (wall, entropy) = (app.wall(), &*app.entropy);
    let source = source_address(peer, &headers, &app.trusted_proxies);
    let submission = Submission {
        settings: RunSettings::check(run.settings.as_ref())?,
        run,
        account: Some(account.id),
        actor: format!("user:{}", account.uuid),
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
    let settings = app.bench.clone();
    let submit = move |tx: &mut dyn Tx| {
        let submitted = bench::submit_run(tx, &submission, &settings, resolve)?;
        let (Submitted::New { report, .. } | Submitted::Before { report }) = submitted;
        reports::show(tx, &report)
    };
    let report = app.store.ledger.submit(submit).await?;
    Ok((StatusCode::CREATED, Json(report)))
}

/// An image of a project's own registry: a tag as it points now, or a digest as it stands.
fn resolve(tx: &mut dyn Tx, project: &Project, image: &str) -> Result<Digest, Denied> {
    let (name, reference) = match image.split_once('@') {
        Some((name, digest)) => {
            let digest: Digest = digest
                .parse()
                .map_err(|error: kiln_model::NotADigest| Denied::Invalid(error.to_string()))?;
            (name, digest.to_string())
        }
        None => match image.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
            Some((name, tag)) => (name, tag.to_owned()),
            None => (image, "latest".to_owned()),
        },
    };
    let repository = repository_in(project, name);
    registry::resolve(tx, project.id, &repository, &reference)?.ok_or_else(|| {
        Denied::Invalid(format!(
            "the project has no image {image:?}: push it to the server's registry first"
        ))
    })
}

/// The path of a repository inside its project: what follows the project's own name, without a host in front.
fn repository_in(project: &Project, name: &str) -> String {
    let uuid = project.uuid.to_string();
    let mut segments: Vec<&str> = name.split('/').collect();
    if segments.len() > 1 && segments[0].contains([':', '.']) {
        segments.remove(0);
    }
    if segments
        .first()
        .is_some_and(|first| *first == project.slug.as_str() || *first == uuid)
    {
        segments.remove(0);
    }
    segments.join("/")
}
