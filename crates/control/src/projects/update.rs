//! Projects change.

use kiln_model::v0::{Permission, UpdateProject};
use kiln_store::Tx;
use kiln_store::sql::project::{self, Project};

use crate::access::{self, Caller};
use crate::slugs::taken;
use crate::{Denied, audit};

/// For people only: a key works in a project, and does not rename it.
pub fn update_project(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    change: &UpdateProject,
) -> Result<Project, Denied> {
    let mut found = access::project(tx, caller, reference, Permission::Edit)?;
    if matches!(caller, Caller::ProjectKey(_)) {
        return Err(Denied::Forbidden);
    }
    if let Some(name) = &change.name {
        found.name = name.clone();
    }
    if let Some(slug) = &change.slug {
        found.slug = slug.clone();
    }
    if let Some(url) = &change.url {
        found.url.clone_from(url);
    }
    found.visibility = change.visibility.unwrap_or(found.visibility);
    project::update(tx, &found).map_err(|error| taken(error, "a project with this slug"))?;
    audit::record(tx, caller, "project.update", "project", found.uuid)?;
    project::find(tx, found.id)?.ok_or(Denied::NotFound("project"))
}
