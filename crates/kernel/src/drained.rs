//! How far a drain came.

use crate::{KvTx, Status};

/// The answer of a drain inside a transaction: what was removed stays removed, also when the next row stopped it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    pub processed: usize,
    /// Why it ended early; that row is still there.
    pub stopped_by: Option<Status>,
}

/// Runs one callback in a nested frame, so that a refused row leaves nothing behind.
pub(crate) fn stops<T: KvTx + ?Sized>(
    tx: &mut T,
    each: impl FnOnce(&mut T) -> Result<(), Status>,
) -> Result<Result<(), Status>, Status> {
    tx.begin_nested()?;
    let answer = each(tx);
    if answer.is_ok() {
        tx.commit_nested()?;
    } else {
        tx.rollback_nested()?;
    }
    Ok(answer)
}
