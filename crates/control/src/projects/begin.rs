//! A project that a run or a push names, which begins when nobody has its slug yet.

use kiln_model::v0::Permission;
use kiln_model::{ProjectUuid, Slug};
use kiln_store::Tx;
use kiln_store::sql::project::{self, Project};

use super::create::{OnTheFly, create_on_the_fly};
use crate::Denied;
use crate::access::{self, Caller};

/// The project of that UUID or slug, if the caller may put something into it. A slug that nobody has becomes the
/// caller's; a UUID that is unknown stays unknown, and a project's key begins no other project.
pub fn find_or_create(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    ids: OnTheFly,
) -> Result<Project, Denied> {
    let mut found = project::find_by_ref(tx, reference)?;
    if found.is_none() {
        serialize(tx)?;
        found = project::find_by_ref(tx, reference)?;
    }
    if let Some(found) = found {
        return access::found_project(tx, caller, found, Permission::Create);
    }
    let unknown = || Denied::NotFound("project");
    let slug: Slug = reference.parse().map_err(|_| unknown())?;
    if reference.parse::<ProjectUuid>().is_ok() || matches!(caller, Caller::ProjectKey(_)) {
        return Err(unknown());
    }
    let owner = caller.account().map(|account| account.id);
    create_on_the_fly(tx, &slug, ids, owner)
}

/// Projects on the fly are made one after the other: of two requests for one slug, or for the first project of one
/// person, the second finds what the first made.
fn serialize(tx: &mut dyn Tx) -> Result<(), Denied> {
    Ok(tx.serialize_on("create project")?)
}
