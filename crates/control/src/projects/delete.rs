//! Projects end.

use kiln_model::v0::Permission;
use kiln_store::Tx;
use kiln_store::sql::project::{self, Project};

use crate::access::{self, Caller};
use crate::{Denied, audit, jobs};

/// Cancels the live jobs of a project, then hides it. What it has is kept; its slug is free again.
pub fn delete_project(tx: &mut dyn Tx, caller: &Caller, reference: &str) -> Result<(), Denied> {
    let found = access::project(tx, caller, reference, Permission::Delete)?;
    delete(tx, caller, &found)
}

pub(crate) fn delete(tx: &mut dyn Tx, caller: &Caller, found: &Project) -> Result<(), Denied> {
    let actor = caller.actor();
    for job in project::live_jobs(tx, found.id)? {
        match jobs::cancel(tx, job, &actor) {
            // It ended by itself in between, which is as good.
            Ok(_) | Err(Denied::Ended(_)) => {}
            Err(denied) => return Err(denied),
        }
    }
    project::delete(tx, found.id)?;
    audit::record(tx, caller, "project.delete", "project", found.uuid)?;
    Ok(())
}
