//! How much an organization has measured.

use kiln_model::Millis;

use crate::{Error, Query, params};

/// Numbers of reports, and the series they belong to: what was measured, of which benchmark, on which testbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    pub metrics: u64,
    pub series: u64,
}

/// What the organization measured from `start` on and before `end`.
pub fn measured<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    start: Millis,
    end: Millis,
) -> Result<Measured, Error> {
    let row = query.query_one(
        "SELECT COUNT(*), COUNT(DISTINCT metric.series_id) FROM project \
         JOIN report ON report.project_id = project.id \
         JOIN metric ON metric.report_id = report.id \
         WHERE project.organization_id = ?1 AND report.start_time >= ?2 AND report.start_time < ?3",
        params![organization, start, end],
    )?;
    let row = row.ok_or_else(|| Error::Corrupt {
        what: "a count answered nothing".to_owned(),
    })?;
    Ok(Measured {
        metrics: row.get(0)?,
        series: row.get(1)?,
    })
}
