//! How much there is of everything.

use kiln_model::Status;

use crate::{Error, Query, params};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub accounts: i64,
    pub organizations: i64,
    pub projects: i64,
    pub reports: i64,
    pub runners: i64,
    pub specs: i64,
    pub jobs_pending: i64,
    pub jobs_claimed: i64,
    pub jobs_running: i64,
    pub jobs: i64,
}

pub fn count<Q: Query + ?Sized>(query: &mut Q) -> Result<Stats, Error> {
    let mut all = |sql: &str| super::count(query, sql, &[]);
    let mut stats = Stats {
        accounts: all("SELECT COUNT(*) FROM account")?,
        organizations: all("SELECT COUNT(*) FROM organization WHERE deleted IS NULL")?,
        projects: all("SELECT COUNT(*) FROM project WHERE deleted IS NULL")?,
        reports: all("SELECT COUNT(*) FROM report")?,
        runners: all("SELECT COUNT(*) FROM runner WHERE archived IS NULL")?,
        specs: all("SELECT COUNT(*) FROM spec WHERE archived IS NULL")?,
        jobs: all("SELECT COUNT(*) FROM job")?,
        ..Stats::default()
    };
    let mut in_status = |status: Status| {
        super::count(
            query,
            "SELECT COUNT(*) FROM job WHERE status = ?1",
            params![status.code()],
        )
    };
    stats.jobs_pending = in_status(Status::Pending)?;
    stats.jobs_claimed = in_status(Status::Claimed)?;
    stats.jobs_running = in_status(Status::Running)?;
    Ok(stats)
}
