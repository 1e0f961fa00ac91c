//! What an organization used.

use kiln_model::Millis;
use kiln_model::v0::Permission;
use kiln_store::Query;
use kiln_store::sql::organization::Organization;
use kiln_store::sql::{billing_minute, numbers};

use crate::Denied;
use crate::access::{self, Caller};

/// What an organization used from `start` on and before `end`.
#[derive(Clone, Debug)]
pub struct Used {
    pub organization: Organization,
    /// Begun minutes of jobs.
    pub runner_minutes: u64,
    /// Measured numbers of reports that were made then.
    pub metrics: u64,
    /// How many series these are of.
    pub active_series: u64,
}

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
    let (metrics, active_series) = numbers::count(query, organization.id, start, end)?;
    Ok(Used {
        runner_minutes: billing_minute::count(query, organization.id, start, end)?,
        metrics,
        active_series,
        organization,
    })
}
