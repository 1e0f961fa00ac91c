//! The project behind a repository's name.

use kiln_control::Denied;
use kiln_control::projects::{self, OnTheFly};
use kiln_model::{OrganizationUuid, ProjectUuid, Slug};
use kiln_registry::{Name, Repository};
use kiln_store::Tx;
use kiln_store::sql::{account, project};

use super::error::{OciError, OciResult};
use crate::app::Shared;

/// The repository, if its project is there.
pub(super) async fn find(app: &Shared, name: &Name) -> OciResult<Option<Repository>> {
    let reference = name.project().to_owned();
    let found: Result<_, kiln_store::Error> = app
        .store
        .reader
        .read(move |query| project::find_by_ref(query, &reference))
        .await;
    Ok(found?.map(|project| Repository {
        project: project.id,
        path: name.repository().to_owned(),
    }))
}

/// The repository, in a project that is made when a slug is new. A UUID that is unknown stays unknown.
pub(super) async fn find_or_create(app: &Shared, name: &Name) -> OciResult<Repository> {
    if let Some(found) = find(app, name).await? {
        return Ok(found);
    }
    let reference = name.project();
    let Ok(slug) = reference.parse::<Slug>() else {
        return Err(OciError::name_unknown());
    };
    if reference.parse::<ProjectUuid>().is_ok() {
        return Err(OciError::name_unknown());
    }
    let (wall, entropy) = (app.wall(), &*app.entropy);
    let (uuid, organization) = (
        ProjectUuid::mint(wall, entropy),
        OrganizationUuid::mint(wall, entropy),
    );
    let made = app.store.ledger.submit(move |tx: &mut dyn Tx| {
        projects::serialize_creation(tx)?;
        if let Some(found) = project::find_by_ref(tx, slug.as_str())? {
            return Ok::<_, Denied>(found.id);
        }
        // The registry knows what its caller may, not who they are: the project is the server's own.
        let owner = account::first_admin(tx)?.map(|admin| admin.id);
        let ids = OnTheFly {
            project: uuid,
            organization,
        };
        Ok(projects::create_on_the_fly(tx, &slug, ids, owner)?.id)
    });
    Ok(Repository {
        project: made.await?,
        path: name.repository().to_owned(),
    })
}
