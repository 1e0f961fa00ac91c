//! What an organization used.

use kiln_model::Millis;
use kiln_model::v0::Permission;
use kiln_store::Query;
use kiln_store::sql::billing_minute;
use kiln_store::sql::organization::Organization;

use crate::Denied;
use crate::access::{self, Caller};

/// An organization, and how many minutes its jobs began from `start` on and before `end`.
pub fn usage<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    reference: &str,
    (start, end): (Millis, Millis),
) -> Result<(Organization, u64), Denied> {
    if end < start {
        let what = "`end_time` is before `start_time`";
        return Err(Denied::Invalid(what.to_owned()));
    }
    let found = access::organization(query, caller, reference, Permission::View)?;
    let minutes = billing_minute::count(query, found.id, start, end)?;
    Ok((found, minutes))
}
