//! Keys that open one project, for machines that submit to it.

use kiln_model::v0::{NewKey, Permission};
use kiln_model::{KeyUuid, ResourceName};
use kiln_store::Tx;
use kiln_store::sql::project::Project;
use kiln_store::sql::project_key::{self, NewProjectKey, ProjectKey};

use crate::access::{self, Caller};
use crate::people::{NewKeyParts, expiry};
use crate::{Denied, audit};

pub fn create_project_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    new: &NewKey,
    parts: &NewKeyParts,
) -> Result<(Project, ProjectKey), Denied> {
    let project = access::project(tx, caller, reference, Permission::Manage)?;
    let key = NewProjectKey {
        uuid: parts.uuid,
        project: project.id,
        creator: caller.account().map(|account| account.id),
        name: &new.name,
        hash: &parts.hash,
        expires: expiry(tx.wall(), new.ttl)?,
    };
    project_key::insert(tx, &key)?;
    audit::record(tx, caller, "project.key.create", "key", parts.uuid)?;
    let made = find(tx, &project, parts.uuid)?;
    Ok((project, made))
}

pub fn rename_project_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    uuid: KeyUuid,
    name: &ResourceName,
) -> Result<(Project, ProjectKey), Denied> {
    let project = access::project(tx, caller, reference, Permission::Manage)?;
    let mut found = find(tx, &project, uuid)?;
    project_key::rename(tx, found.id, name)?;
    found.name = name.clone();
    audit::record(tx, caller, "project.key.update", "key", uuid)?;
    Ok((project, found))
}

/// A revoked key is dead at once and stays listed.
pub fn revoke_project_key(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
    uuid: KeyUuid,
) -> Result<(), Denied> {
    let project = access::project(tx, caller, reference, Permission::Manage)?;
    let found = find(tx, &project, uuid)?;
    project_key::revoke(tx, found.id)?;
    audit::record(tx, caller, "project.key.revoke", "key", uuid)?;
    Ok(())
}

fn find(tx: &mut dyn Tx, project: &Project, uuid: KeyUuid) -> Result<ProjectKey, Denied> {
    project_key::find(tx, project.id, uuid)?.ok_or(Denied::NotFound("key"))
}
