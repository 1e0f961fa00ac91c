//! Whether a runner that was let in may still speak. A channel lives long; its credential may not.

use kiln_store::Tx;
use kiln_store::sql::runner;

use crate::Denied;

/// What a runner showed when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credential {
    pub runner: i64,
    /// Grows with every rotation.
    pub version: i64,
}

impl Credential {
    /// Refuses in the same transaction that would have carried out the word (A1).
    pub fn check(self, tx: &mut dyn Tx) -> Result<(), Denied> {
        if runner::is_current(tx, self.runner, self.version)? {
            Ok(())
        } else {
            Err(Denied::Revoked)
        }
    }
}
