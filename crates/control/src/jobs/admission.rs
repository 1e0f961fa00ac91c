//! Which of the jobs that share a limit may be claimed now.
//!
//! Per limit key, and per lane, only the first pending job in claim order is admitted, and none while one is in flight.
//! A claim therefore looks at one row per lane, however many jobs are held back, and a job for a lane without runners does
//! not hold back its siblings in other lanes.

use kiln_store::sql::job::Job;
use kiln_store::sql::job_standing;
use kiln_store::{Bell, Tx};

use crate::Denied;

/// Makes the admissions right after `job` was submitted or moved.
pub(super) fn settle(tx: &mut dyn Tx, job: &Job) -> Result<(), Denied> {
    let Some(key) = job.ask.limit_key.as_deref() else {
        return Ok(());
    };
    tx.serialize_on(key)?;
    let mut wanted = Vec::new();
    if !job_standing::limit_is_taken(tx, key)? {
        let mut after = i64::MIN;
        while let Some(lane) = job_standing::next_limited_lane(tx, key, after)? {
            after = lane;
            if let Some(id) = job_standing::first_limited(tx, key, lane)? {
                wanted.push((id, lane));
            }
        }
    }
    let admitted = job_standing::admitted_limited(tx, key)?;
    for (id, _) in admitted.iter().filter(|row| !wanted.contains(row)) {
        job_standing::set_admitted(tx, *id, false)?;
    }
    for (id, lane) in wanted.iter().filter(|row| !admitted.contains(row)) {
        job_standing::set_admitted(tx, *id, true)?;
        tx.ring(Bell::Lane(*lane));
    }
    Ok(())
}
