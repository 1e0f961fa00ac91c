//! What stands between a pending job and a runner.

use kiln_model::Millis;

use crate::sql::job::Job;
use crate::{Error, Query, params};

/// Counting stops here: nobody needs to know whether a hundred thousand or a million are ahead.
const MOST: i64 = 10_000;
/// How many finished jobs tell how long one takes.
const SAMPLE: i64 = 20;

/// A runner that serves a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub last_heartbeat: Option<Millis>,
    /// How many jobs it holds, and how many of those have it to themselves.
    pub held: u32,
    pub alone: u32,
    /// What it told about itself, as JSON.
    pub metadata: Option<String>,
}

/// How many claimable jobs of the same lane come before this one, counted up to ten thousand.
pub fn ahead<Q: Query + ?Sized>(query: &mut Q, job: &Job) -> Result<i64, Error> {
    let row = query.query_one(
        "SELECT COUNT(*) FROM (SELECT id FROM job WHERE lane_id = ?1 AND status = 0 AND admitted = 1 \
         AND (priority > ?2 OR (priority = ?2 AND (created < ?3 OR (created = ?3 AND id < ?4)))) LIMIT ?5) AS ahead",
        params![
            job.ask.lane,
            job.ask.priority.0,
            job.ask.created,
            job.id,
            MOST
        ],
    )?;
    row.ok_or_else(|| Error::Corrupt {
        what: "a count answered nothing".to_owned(),
    })?
    .get(0)
}

/// The runners that serve a lane and are neither archived nor drained.
pub fn servers<Q: Query + ?Sized>(query: &mut Q, lane: i64) -> Result<Vec<Server>, Error> {
    query
        .query(
            "SELECT runner.last_heartbeat, \
             (SELECT COUNT(*) FROM job WHERE job.runner_id = runner.id AND job.status IN (1, 2)), \
             (SELECT COUNT(*) FROM job WHERE job.runner_id = runner.id AND job.status IN (1, 2) AND job.shared = 0), \
             runner.metadata \
             FROM runner_lane JOIN runner ON runner.id = runner_lane.runner_id \
             WHERE runner_lane.lane_id = ?1 AND runner.archived IS NULL AND runner.draining IS NULL ORDER BY runner.id",
            params![lane],
        )?
        .iter()
        .map(|row| {
            Ok(Server {
                last_heartbeat: row.get(0)?,
                held: row.get(1)?,
                alone: row.get(2)?,
                metadata: row.get(3)?,
            })
        })
        .collect()
}

/// How long the last finished jobs of a spec held their runner, in milliseconds.
pub fn recent_spans<Q: Query + ?Sized>(query: &mut Q, spec: i64) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT claimed, ended FROM job WHERE spec_id = ?1 AND status IN (3, 4) \
             AND claimed IS NOT NULL AND ended IS NOT NULL ORDER BY id DESC LIMIT ?2",
            params![spec, SAMPLE],
        )?
        .iter()
        .map(|row| Ok((row.get::<i64>(1)? - row.get::<i64>(0)?).max(0)))
        .collect()
}
