//! Uploads that nobody needs are found, and their rows go after their objects.

use std::time::Duration;

use kiln_model::Millis;
use kiln_store::Tx;
use kiln_store::sql::job_upload::{self, Upload};

use crate::Denied;

/// How long an upload that no result names may lie still: longer than any runner is away.
pub const IDLE: Duration = Duration::from_hours(24);

/// The next uploads whose objects are to go. From this commit on nobody can add to them or name them.
pub fn leaving(tx: &mut dyn Tx, limit: u32) -> Result<Vec<Upload>, Denied> {
    let idle = i64::try_from(IDLE.as_millis()).unwrap_or(i64::MAX);
    let before = Millis(tx.now().0.saturating_sub(idle));
    job_upload::let_go(tx, before)?;
    Ok(job_upload::leaving(tx, limit)?)
}

/// The next uploads that are whole and whose pieces a crash has left behind.
pub fn with_spare_pieces(tx: &mut dyn Tx, limit: u32) -> Result<Vec<Upload>, Denied> {
    Ok(job_upload::with_spare_pieces(tx, limit)?)
}

/// The objects of an upload's pieces are gone.
pub fn forget_pieces(tx: &mut dyn Tx, upload: i64) -> Result<(), Denied> {
    Ok(job_upload::forget_pieces(tx, upload)?)
}

/// The objects of an upload are gone.
pub fn gone(tx: &mut dyn Tx, upload: i64) -> Result<(), Denied> {
    Ok(job_upload::remove(tx, upload)?)
}
