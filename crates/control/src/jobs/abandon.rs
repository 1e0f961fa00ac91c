//! The compute session ends before this action does.

use kiln_model::{Kind, Trigger};
use kiln_store::Tx;

use super::advance::{Cause, advance};
use crate::Denied;

/// Abandons a live action; anything else is left alone. Tells whether it did.
pub fn abandon(tx: &mut dyn Tx, id: i64, actor: &str) -> Result<bool, Denied> {
    let mut job = super::lock(tx, id)?;
    if job.ask.kind != Kind::Action || job.life.status.is_ended() {
        return Ok(false);
    }
    advance(tx, &mut job, &Cause::new(Trigger::SessionAbandon, actor))?;
    Ok(true)
}
