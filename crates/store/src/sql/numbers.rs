//! All that a project or an organization measured. It is removed in slices: a project can have more metrics than one transaction
//! should touch.

use kiln_model::Millis;

use crate::{Error, Query, Tx, params};

/// What hangs on something else comes before it, so that no slice is longer than it says. Each removes at most `?2` rows of
/// the project `?1`.
const SLICES: [&str; 8] = [
    "DELETE FROM metric WHERE (series_id, report_id, iteration) IN ( \
     SELECT k.series_id, k.report_id, k.iteration FROM measure m \
     JOIN series s ON s.measure_id = m.id JOIN metric k ON k.series_id = s.id \
     WHERE m.project_id = ?1 LIMIT ?2)",
    "DELETE FROM alert WHERE id IN (SELECT id FROM alert WHERE project_id = ?1 LIMIT ?2)",
    "DELETE FROM series WHERE id IN ( \
     SELECT s.id FROM measure m JOIN series s ON s.measure_id = m.id WHERE m.project_id = ?1 LIMIT ?2)",
    "DELETE FROM threshold_model WHERE id IN ( \
     SELECT o.id FROM threshold t JOIN threshold_model o ON o.threshold_id = t.id \
     WHERE t.project_id = ?1 LIMIT ?2)",
    "DELETE FROM threshold WHERE id IN (SELECT id FROM threshold WHERE project_id = ?1 LIMIT ?2)",
    "DELETE FROM measure WHERE id IN (SELECT id FROM measure WHERE project_id = ?1 LIMIT ?2)",
    "DELETE FROM benchmark WHERE id IN (SELECT id FROM benchmark WHERE project_id = ?1 LIMIT ?2)",
    "DELETE FROM plot WHERE id IN (SELECT id FROM plot WHERE project_id = ?1 LIMIT ?2)",
];

/// Removes at most so many rows; whether there may be more.
pub fn delete_some(tx: &mut dyn Tx, project: i64, most: i64) -> Result<bool, Error> {
    let mut left = most;
    for slice in SLICES {
        let removed = tx.execute(slice, params![project, left])?;
        left -= i64::try_from(removed).unwrap_or(left);
        if left <= 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How many metrics the reports of an organization have that were made from `start` on and before `end`, and how many series
/// they are of.
pub fn count<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    start: Millis,
    end: Millis,
) -> Result<(u64, u64), Error> {
    let row = query.query_one(
        "SELECT COUNT(*), COUNT(DISTINCT series_id) FROM metric WHERE report_id IN ( \
         SELECT report.id FROM project JOIN report ON report.project_id = project.id \
         WHERE project.organization_id = ?1 AND report.created >= ?2 AND report.created < ?3)",
        params![organization, start, end],
    )?;
    row.map_or(Ok((0, 0)), |row| Ok((row.get(0)?, row.get(1)?)))
}
