//! Signs of life, written in bulk beside the jobs.

use kiln_model::{Millis, Status};

use super::job;
use crate::{Error, Query, Tx, params};

/// Records that the holder of `epoch` was alive at `tick`. An older epoch or an earlier time changes nothing.
pub fn record(tx: &mut dyn Tx, job: i64, epoch: i64, tick: Millis) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO heartbeat (job_id, epoch, tick) VALUES (?1, ?2, ?3) \
         ON CONFLICT (job_id) DO UPDATE SET epoch = excluded.epoch, tick = excluded.tick \
         WHERE heartbeat.epoch < excluded.epoch \
         OR (heartbeat.epoch = excluded.epoch AND heartbeat.tick < excluded.tick)",
        params![job, epoch, tick],
    )?;
    Ok(())
}

/// When the holder of `epoch` was last heard.
pub fn last<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    epoch: i64,
) -> Result<Option<Millis>, Error> {
    query
        .query_one(
            "SELECT tick FROM heartbeat WHERE job_id = ?1 AND epoch = ?2",
            params![job, epoch],
        )?
        .map(|row| row.get(0))
        .transpose()
}

pub fn forget(tx: &mut dyn Tx, job: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM heartbeat WHERE job_id = ?1", params![job])?;
    Ok(())
}

/// What a heartbeat needs to know of its job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pulse {
    pub status: Status,
    pub epoch: i64,
    pub started_tick: Option<Millis>,
    /// How many of its minutes are written down to be billed.
    pub billed: i64,
}

/// The job of that id, as far as that.
pub fn pulse<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Pulse>, Error> {
    let row = query.query_one(
        "SELECT status, epoch, started_tick, billed FROM job WHERE id = ?1",
        params![id],
    )?;
    row.map(|row| {
        Ok(Pulse {
            status: job::status(row.get(0)?)?,
            epoch: row.get(1)?,
            started_tick: row.get(2)?,
            billed: row.get(3)?,
        })
    })
    .transpose()
}
