//! An organization is claimed: its jobs wait no longer behind those of strangers.

use kiln_model::Priority;
use kiln_store::Tx;
use kiln_store::sql::job_standing;

use super::admission;
use crate::Denied;

/// Moves the pending jobs below `priority` up to it, under a limit of their own.
pub fn lift(
    tx: &mut dyn Tx,
    organization: i64,
    priority: Priority,
    limit_key: Option<&str>,
) -> Result<(), Denied> {
    for id in job_standing::pending_below(tx, organization, priority)? {
        let before = super::lock(tx, id)?;
        let mut after = before.clone();
        after.ask.priority = priority;
        after.ask.limit_key = limit_key.map(str::to_owned);
        // One without a limit can be claimed at once.
        job_standing::set_standing(tx, id, priority, limit_key)?;
        admission::settle(tx, &before)?;
        admission::settle(tx, &after)?;
        if limit_key.is_none() {
            tx.ring(kiln_store::Bell::Lane(before.ask.lane));
        }
    }
    Ok(())
}
