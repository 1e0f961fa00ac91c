//! What an organization used.

use kiln_model::Millis;
use kiln_model::v0::Permission;
use kiln_store::Query;
use kiln_store::sql::billing_minute;
use kiln_store::sql::organization::Organization;
use kiln_store::sql::usage::{self, Measured};

use crate::Denied;
use crate::access::{self, Caller};

/// What an organization used.
#[derive(Clone, Debug)]
pub struct Used {
    pub organization: Organization,
    /// Begun minutes of its jobs.
    pub minutes: u64,
    pub measured: Measured,
}

/// What an organization used from `start` on and before `end`.
pub fn usage<Q: Query + ?Sized>(
    query: &mut Q,
    caller: &Caller,
    reference: &str,
    (start, end): (Millis, Millis),
) -> Result<Used, Denied> {
    if end < start {
        let what = "`end_time` is before `start_time`";
        return Err(Denied::Invalid(what.to_owned()));
    }
    let organization = access::organization(query, caller, reference, Permission::View)?;
    Ok(Used {
        minutes: billing_minute::count(query, organization.id, start, end)?,
        measured: usage::measured(query, organization.id, start, end)?,
        organization,
    })
}
