//! Somebody takes an organization that nobody has.

use kiln_model::v0::{Permission, Role};
use kiln_store::Tx;
use kiln_store::sql::account::Account;
use kiln_store::sql::member;
use kiln_store::sql::organization::{self, Organization};
use kiln_store::sql::project::Project;

use crate::access::{self, Caller};
use crate::bench::Tier;
use crate::{Denied, audit, jobs};

/// The first to ask leads it from then on, and jobs that waited as those of nobody wait as those of a free plan. A claimed organization is hidden from those who are not in it.
pub fn claim_organization(
    tx: &mut dyn Tx,
    caller: &Caller,
    reference: &str,
) -> Result<Organization, Denied> {
    let leader = caller.account().ok_or(Denied::Unauthorized)?;
    let found =
        organization::find_by_ref(tx, reference)?.ok_or(Denied::NotFound("organization"))?;
    if !take(tx, caller, leader, &found)? {
        return match member::role(tx, found.id, leader.id)? {
            Some(_) => Err(Denied::Conflict("the organization is claimed already")),
            None => Err(Denied::NotFound("organization")),
        };
    }
    organization::find(tx, found.id)?.ok_or(Denied::NotFound("organization"))
}

/// Whoever submits a run under their own name to a project that nobody has, has it from then on. Where somebody was faster,
/// their rights decide.
pub(crate) fn claim_with_run(
    tx: &mut dyn Tx,
    caller: &Caller,
    project: &Project,
) -> Result<(), Denied> {
    let Some(leader) = caller.account().filter(|_| project.claimed.is_none()) else {
        return Ok(());
    };
    let found = organization::find(tx, project.organization_id)?;
    let found = found.ok_or(Denied::NotFound("organization"))?;
    if take(tx, caller, leader, &found)? {
        return Ok(());
    }
    let reference = project.uuid.to_string();
    access::project(tx, caller, &reference, Permission::Create).map(drop)
}

/// Tells whether nobody had it.
fn take(
    tx: &mut dyn Tx,
    caller: &Caller,
    leader: &Account,
    organization: &Organization,
) -> Result<bool, Denied> {
    tx.serialize_on(&format!("claim {}", organization.uuid))?;
    if member::count(tx, organization.id)? > 0 {
        return Ok(false);
    }
    member::put(tx, organization.id, leader.id, Role::Leader)?;
    let limit_key = Tier::Free.limit_key(organization.id, None);
    let priority = Tier::Free.priority();
    jobs::lift(tx, organization.id, priority, limit_key.as_deref())?;
    let subject = organization.uuid;
    audit::record(tx, caller, "organization.claim", "organization", subject)?;
    Ok(true)
}
