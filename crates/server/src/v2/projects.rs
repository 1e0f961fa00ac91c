//! The project behind a repository that is pushed to.

use kiln_control::Denied;
use kiln_control::projects::{self, OnTheFly};
use kiln_model::{OrganizationUuid, ProjectUuid};
use kiln_registry::Repository;
use kiln_store::Tx;

use super::challenge::{self, Reason};
use super::dispatch::Call;
use super::error::{OciError, OciResult};
use crate::token::Action;

/// The repository, in a project that begins when a slug is new: as a run begins one.
pub(super) async fn find_or_create(call: &Call) -> OciResult<Repository> {
    if let Some(found) = &call.repository {
        return Ok(found.clone());
    }
    let caller = call.caller.known().cloned();
    let caller = caller.ok_or_else(OciError::name_unknown)?;
    let reference = call.name.project().to_owned();
    let (wall, entropy) = (call.app.wall(), &*call.app.entropy);
    let ids = OnTheFly {
        project: ProjectUuid::mint(wall, entropy),
        organization: OrganizationUuid::mint(wall, entropy),
    };
    let begin = move |tx: &mut dyn Tx| projects::find_or_create(tx, &caller, &reference, ids);
    match call.app.store.ledger.submit(begin).await {
        Ok(project) => {
            call.app.metrics.count_begun(
                project.uuid == ids.project,
                project.organization == ids.organization,
            );
            Ok(Repository {
                project: project.id,
                path: call.name.repository().to_owned(),
            })
        }
        Err(Denied::NotFound(_)) => Err(OciError::name_unknown()),
        Err(Denied::Unauthorized) => {
            let scope = [(&call.name, Action::Push)];
            Err(challenge::refuse(&call.app, Reason::Insufficient, &scope))
        }
        Err(denied) => Err(denied.into()),
    }
}
