//! Projects begin: in an organization, or with the first run that names them.

use kiln_model::v0::{NewProject, Permission};
use kiln_model::{OrganizationUuid, ProjectUuid, ResourceName, Slug};
use kiln_store::Tx;
use kiln_store::sql::project::{self, Project};
use kiln_store::sql::{account, organization};

use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, NewSlug, audit, people};

pub fn create_project(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    new: &NewProject,
    uuid: ProjectUuid,
    slug: &NewSlug,
) -> Result<Project, Denied> {
    let organization = access::organization(tx, caller, reference, Permission::Create)?;
    let slug = slug.choose(tx, &new.name, |tx, slug| project::is_slug_taken(tx, slug))?;
    let mut made = insert(tx, uuid, organization.id, &new.name, &slug)?;
    made.url.clone_from(&new.url);
    made.visibility = new.visibility.unwrap_or_default();
    project::update(tx, &made)?;
    audit::record(tx, caller, "project.create", "project", uuid)?;
    Ok(made)
}

/// Ids for a project that a run or a push begins.
#[derive(Clone, Copy, Debug)]
pub struct OnTheFly {
    pub project: ProjectUuid,
    pub organization: OrganizationUuid,
}

/// The project of a slug that nobody has yet: in its owner's own organization, or in one that nobody has claimed.
pub(crate) fn create_on_the_fly(
    tx: &mut dyn Tx,
    slug: &Slug,
    ids: OnTheFly,
    owner: Option<i64>,
) -> Result<Project, Denied> {
    let name: ResourceName = slug.as_str().parse().expect("a slug is a valid name");
    let organization = match owner {
        Some(owner) => {
            let owner = account::find(tx, owner)?.ok_or(Denied::Unauthorized)?;
            people::home_of(tx, &owner, ids.organization)?
        }
        None => unclaimed(tx, &name, slug, ids.organization)?,
    };
    insert(tx, ids.project, organization, &name, slug)
}

fn unclaimed(
    tx: &mut dyn Tx,
    name: &ResourceName,
    slug: &Slug,
    uuid: OrganizationUuid,
) -> Result<i64, Denied> {
    let slug = NewSlug {
        asked: Some(slug.clone()),
        suffix: uuid.to_string()[24..].to_owned(),
    };
    let slug = slug.choose(tx, name, |tx, slug| organization::is_slug_taken(tx, slug))?;
    organization::insert(tx, uuid, name, &slug)
        .map_err(|error| taken(error, "an organization with this slug"))
}

fn insert(
    tx: &mut dyn Tx,
    uuid: ProjectUuid,
    organization: i64,
    name: &ResourceName,
    slug: &Slug,
) -> Result<Project, Denied> {
    project::insert(tx, uuid, organization, name, slug)
        .map_err(|error| taken(error, "a project with this slug"))?;
    project::find_by_ref(tx, slug.as_str())?.ok_or(Denied::NotFound("project"))
}
