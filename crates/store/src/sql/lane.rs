//! Lanes, and which runner serves which.

use crate::{Bell, Error, Query, Tx, params};

/// The id of the lane of that name, made when it is not there yet.
pub fn ensure(tx: &mut dyn Tx, name: &str) -> Result<i64, Error> {
    if let Some(id) = find(tx, name)? {
        return Ok(id);
    }
    tx.execute(
        "INSERT INTO lane (name) VALUES (?1) ON CONFLICT (name) DO NOTHING",
        params![name],
    )?;
    find(tx, name)?.ok_or_else(|| Error::Corrupt {
        what: format!("lane {name} vanished"),
    })
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, name: &str) -> Result<Option<i64>, Error> {
    query
        .query_one("SELECT id FROM lane WHERE name = ?1", params![name])?
        .map(|row| row.get(0))
        .transpose()
}

/// The lanes a runner is given jobs of, in id order: none while it is drained.
pub fn of_runner<Q: Query + ?Sized>(query: &mut Q, runner: i64) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT lane_id FROM runner_lane WHERE runner_id = ?1 \
             AND EXISTS (SELECT 1 FROM runner WHERE id = ?1 AND draining IS NULL) ORDER BY lane_id",
            params![runner],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// Lets a runner serve a lane; tells whether that is new. One that waits for work looks again.
pub fn link(tx: &mut dyn Tx, runner: i64, lane: i64) -> Result<bool, Error> {
    let changed = tx.execute(
        "INSERT INTO runner_lane (runner_id, lane_id) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        params![runner, lane],
    )?;
    tx.ring(Bell::Runner(runner));
    Ok(changed == 1)
}

/// Tells whether there was a link to remove.
pub fn unlink(tx: &mut dyn Tx, runner: i64, lane: i64) -> Result<bool, Error> {
    let changed = tx.execute(
        "DELETE FROM runner_lane WHERE runner_id = ?1 AND lane_id = ?2",
        params![runner, lane],
    )?;
    tx.ring(Bell::Runner(runner));
    Ok(changed == 1)
}
