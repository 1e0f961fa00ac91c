//! The compute session of a server: whether its actions may still be expected to finish here.

use kiln_store::sql::{job, setting};
use kiln_store::{Query, Tx};

use crate::tasks::{self, Task};
use crate::{Denied, jobs};

const SETTING: &str = "compute.session";
const ABANDONED: &str = "abandoned";
/// How many actions one transaction abandons, so that it never holds the ledger for long.
const BATCH: i64 = 256;

pub fn is_abandoned<Q: Query + ?Sized>(query: &mut Q) -> Result<bool, Denied> {
    Ok(setting::get(query, SETTING)?.as_deref() == Some(ABANDONED))
}

/// Gives the session up: every live action is abandoned, and none is retried by itself any more.
pub fn abandon(tx: &mut dyn Tx) -> Result<(), Denied> {
    setting::put(tx, SETTING, ABANDONED)?;
    abandon_some(tx)
}

/// One batch of the above; another frame follows while there are more, unless the session was opened again meanwhile.
pub fn abandon_some(tx: &mut dyn Tx) -> Result<(), Denied> {
    if !is_abandoned(tx)? {
        return Ok(());
    }
    let ids = job::live_actions(tx, None, BATCH)?;
    for id in &ids {
        jobs::abandon(tx, *id, "session")?;
    }
    if !ids.is_empty() {
        tasks::send(tx, &Task::AbandonActions)?;
    }
    Ok(())
}

/// Takes work again.
pub fn reopen(tx: &mut dyn Tx) -> Result<(), Denied> {
    setting::put(tx, SETTING, "ready")?;
    Ok(())
}

#[cfg(test)]
mod tests;
