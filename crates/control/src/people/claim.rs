//! Somebody takes an organization that nobody has.

use kiln_model::v0::Role;
use kiln_store::Tx;
use kiln_store::sql::member;
use kiln_store::sql::organization::{self, Organization};

use crate::access::Caller;
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
    tx.serialize_on(&format!("claim {}", found.uuid))?;
    if member::count(tx, found.id)? > 0 {
        return match member::role(tx, found.id, leader.id)? {
            Some(_) => Err(Denied::Conflict("the organization is claimed already")),
            None => Err(Denied::NotFound("organization")),
        };
    }
    member::put(tx, found.id, leader.id, Role::Leader)?;
    let limit_key = Tier::Free.limit_key(found.id, None);
    jobs::lift(tx, found.id, Tier::Free.priority(), limit_key.as_deref())?;
    audit::record(tx, caller, "organization.claim", "organization", found.uuid)?;
    organization::find(tx, found.id)?.ok_or(Denied::NotFound("organization"))
}
