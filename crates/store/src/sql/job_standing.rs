//! How pending jobs stand: their priority, and which of those that share a limit may be claimed.

use kiln_model::Priority;

use crate::{Error, Query, Tx, params};

/// Whether a job with this limit key is in flight.
pub fn limit_is_taken<Q: Query + ?Sized>(query: &mut Q, limit_key: &str) -> Result<bool, Error> {
    let row = query.query_one(
        "SELECT id FROM job WHERE limit_key = ?1 AND status IN (1, 2)",
        params![limit_key],
    )?;
    Ok(row.is_some())
}

/// The next lane after `lane` that has a pending job with this limit key.
pub fn next_limited_lane<Q: Query + ?Sized>(
    query: &mut Q,
    limit_key: &str,
    lane: i64,
) -> Result<Option<i64>, Error> {
    query
        .query_one(
            "SELECT lane_id FROM job WHERE limit_key = ?1 AND status = 0 AND lane_id > ?2 \
             ORDER BY lane_id LIMIT 1",
            params![limit_key, lane],
        )?
        .map(|row| row.get(0))
        .transpose()
}

/// The pending job with this limit key that comes first in a lane.
pub fn first_limited<Q: Query + ?Sized>(
    query: &mut Q,
    limit_key: &str,
    lane: i64,
) -> Result<Option<i64>, Error> {
    query
        .query_one(
            "SELECT id FROM job WHERE limit_key = ?1 AND status = 0 AND lane_id = ?2 \
             ORDER BY priority DESC, created, id LIMIT 1",
            params![limit_key, lane],
        )?
        .map(|row| row.get(0))
        .transpose()
}

/// The admitted pending jobs with this limit key: id and lane.
pub fn admitted_limited<Q: Query + ?Sized>(
    query: &mut Q,
    limit_key: &str,
) -> Result<Vec<(i64, i64)>, Error> {
    query
        .query(
            "SELECT id, lane_id FROM job WHERE limit_key = ?1 AND status = 0 AND admitted = 1 ORDER BY id",
            params![limit_key],
        )?
        .iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// The pending jobs of an organization that stand below a priority.
pub fn pending_below<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    priority: Priority,
) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT id FROM job WHERE organization_id = ?1 AND status = 0 AND priority < ?2 ORDER BY id",
            params![organization, priority.0],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// Moves a pending job to another priority and limit. One under a limit is admitted by it and by nothing else.
pub fn set_standing(
    tx: &mut dyn Tx,
    id: i64,
    priority: Priority,
    limit_key: Option<&str>,
) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET priority = ?2, limit_key = ?3, admitted = CASE WHEN CAST(?3 AS TEXT) IS NULL THEN 1 ELSE 0 END \
         WHERE id = ?1 AND status = 0",
        params![id, priority.0, limit_key],
    )?;
    Ok(())
}

pub fn set_admitted(tx: &mut dyn Tx, id: i64, admitted: bool) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET admitted = ?2 WHERE id = ?1 AND status = 0",
        params![id, admitted],
    )?;
    Ok(())
}
