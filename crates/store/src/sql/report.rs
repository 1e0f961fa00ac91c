//! Reports: what a run is to tell, and what was read out of its output.

use kiln_model::{GitHash, Millis, ReportUuid};

use super::archive::{BRANCH, TESTBED, is_archived};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub id: i64,
    pub uuid: ReportUuid,
    pub project: i64,
    pub account: Option<i64>,
    pub branch: i64,
    pub version: u32,
    pub git_hash: Option<GitHash>,
    pub testbed: i64,
    pub adapter: String,
    pub settings: String,
    pub status: String,
    pub error: Option<String>,
    pub start_time: Millis,
    pub end_time: Millis,
    pub created: Millis,
}

/// One number of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportMetric {
    pub iteration: i64,
    pub benchmark: String,
    pub measure: String,
    pub value: f64,
    pub lower_value: Option<f64>,
    pub upper_value: Option<f64>,
}

const COLUMNS: &str = "id, uuid, project_id, account_id, branch_id, version, git_hash, testbed_id, adapter, settings, status, \
    error, start_time, end_time, created";

/// Its version is one of the head's own, which are found by their number, or one that the head started with.
pub fn insert(
    tx: &mut dyn Tx,
    report: &Report,
    idempotency_key: Option<&str>,
) -> Result<i64, Error> {
    let row = tx.query_one(
        "INSERT INTO report (uuid, project_id, account_id, idempotency_key, branch_id, version, git_hash, testbed_id, \
         adapter, settings, status, start_time, end_time, created, head_id, version_id) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
         (SELECT branch.head_id FROM branch WHERE branch.id = ?5), \
         COALESCE( \
         (SELECT version.id FROM branch JOIN version ON version.head_id = branch.head_id \
         WHERE branch.id = ?5 AND version.number = ?6), \
         (SELECT version.id FROM branch JOIN head_version ON head_version.head_id = branch.head_id \
         JOIN version ON version.id = head_version.version_id WHERE branch.id = ?5 AND version.number = ?6))) RETURNING id",
        params![
            report.uuid.to_string(),
            report.project,
            report.account,
            idempotency_key,
            report.branch,
            report.version,
            report.git_hash.as_ref().map(GitHash::as_str),
            report.testbed,
            report.adapter.as_str(),
            report.settings.as_str(),
            report.status.as_str(),
            report.start_time,
            report.end_time,
            report.created
        ],
    )?;
    super::inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Report>, Error> {
    one(
        query,
        &format!("SELECT {COLUMNS} FROM report WHERE id = ?1"),
        params![id],
    )
}

pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<Option<Report>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM report WHERE project_id = ?1 AND uuid = ?2");
    one(query, &sql, params![project, uuid])
}

pub fn find_idempotent<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    key: &str,
) -> Result<Option<Report>, Error> {
    let sql =
        format!("SELECT {COLUMNS} FROM report WHERE project_id = ?1 AND idempotency_key = ?2");
    one(query, &sql, params![project, key])
}

pub fn set_status(
    tx: &mut dyn Tx,
    id: i64,
    status: &str,
    error: Option<&str>,
) -> Result<(), Error> {
    tx.execute(
        "UPDATE report SET status = ?2, error = ?3 WHERE id = ?1",
        params![id, status, error],
    )?;
    Ok(())
}

/// Keeps how two images compare, as JSON.
pub fn set_paired(tx: &mut dyn Tx, id: i64, outcome: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE report SET paired = ?2 WHERE id = ?1",
        params![id, outcome],
    )?;
    Ok(())
}

/// How two images compare, where they took turns.
pub fn paired<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<String>, Error> {
    let row = query.query_one("SELECT paired FROM report WHERE id = ?1", params![id])?;
    row.map_or(Ok(None), |row| row.get(0))
}

/// What came of the output that a report waited for, and when its job ran.
pub fn conclude(
    tx: &mut dyn Tx,
    id: i64,
    (start, end): (Millis, Millis),
    status: &str,
    error: Option<&str>,
) -> Result<(), Error> {
    tx.execute(
        "UPDATE report SET start_time = ?2, end_time = ?3, status = ?4, error = ?5 WHERE id = ?1",
        params![id, start, end, status, error],
    )?;
    Ok(())
}

/// Which reports a list is to hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub branch: Option<i64>,
    pub testbed: Option<i64>,
    pub from: Option<Millis>,
    pub to: Option<Millis>,
    /// Those of archived branches and testbeds, or all others.
    pub archived: bool,
}

fn listed() -> String {
    format!(
        "project_id = ?1 AND (CAST(?2 AS BIGINT) IS NULL OR branch_id = ?2) \
         AND (CAST(?3 AS BIGINT) IS NULL OR testbed_id = ?3) AND (CAST(?4 AS BIGINT) IS NULL OR start_time >= ?4) \
         AND (CAST(?5 AS BIGINT) IS NULL OR start_time <= ?5) AND {} = (?6 <> 0)",
        is_archived(&[BRANCH, TESTBED])
    )
}

/// By time.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: Filter,
    page: super::dimension::Page,
) -> Result<Vec<Report>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT {COLUMNS} FROM report WHERE {} ORDER BY start_time {order}, id {order} LIMIT ?7 OFFSET ?8",
        listed()
    );
    let rows = query.query(
        &sql,
        params![
            project,
            filter.branch,
            filter.testbed,
            filter.from,
            filter.to,
            filter.archived,
            page.limit,
            page.offset
        ],
    )?;
    rows.iter().map(read).collect()
}

pub fn count<Q: Query + ?Sized>(query: &mut Q, project: i64, filter: Filter) -> Result<i64, Error> {
    super::count(
        query,
        &format!("SELECT COUNT(*) FROM report WHERE {}", listed()),
        params![
            project,
            filter.branch,
            filter.testbed,
            filter.from,
            filter.to,
            filter.archived
        ],
    )
}

/// The head a report belongs to.
pub fn head<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<i64>, Error> {
    let row = query.query_one("SELECT head_id FROM report WHERE id = ?1", params![id])?;
    row.map_or(Ok(None), |row| row.get(0))
}

/// The finished reports of a commit. Few versions are of one: they are found first, and not among all of the project's:
/// the sign before `project_id` keeps SQLite from looking there.
pub fn of_hash<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    hash: &str,
) -> Result<Vec<Report>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM report WHERE version_id IN (SELECT version.id FROM version WHERE version.git_hash = ?2) \
         AND +project_id = ?1 AND git_hash = ?2 AND status = 'ready' ORDER BY id"
    );
    let rows = query.query(&sql, params![project, hash])?;
    rows.iter().map(read).collect()
}

/// The finished reports of the newest version of a head that has any.
pub fn of_newest_version<Q: Query + ?Sized>(
    query: &mut Q,
    head: i64,
) -> Result<Vec<Report>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM report WHERE status = 'ready' AND version_id = (SELECT version.id FROM head_version \
         JOIN version ON version.id = head_version.version_id WHERE head_version.head_id = ?1 \
         AND EXISTS (SELECT 1 FROM report WHERE report.version_id = version.id AND report.status = 'ready') \
         ORDER BY head_version.version_id DESC LIMIT 1) ORDER BY id"
    );
    let rows = query.query(&sql, params![head])?;
    rows.iter().map(read).collect()
}

/// The report goes with its metrics and alerts. A job that made it stays, for the record.
pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET report_id = NULL WHERE report_id = ?1",
        params![id],
    )?;
    tx.execute("DELETE FROM report WHERE id = ?1", params![id])?;
    Ok(())
}

fn one<Q: Query + ?Sized>(
    query: &mut Q,
    sql: &str,
    params: &[crate::Value],
) -> Result<Option<Report>, Error> {
    query.query_one(sql, params)?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Report, Error> {
    Ok(Report {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        project: row.get(2)?,
        account: row.get(3)?,
        branch: row.get(4)?,
        version: row.get(5)?,
        git_hash: super::parse_optional(row, 6)?,
        testbed: row.get(7)?,
        adapter: row.get(8)?,
        settings: row.get(9)?,
        status: row.get(10)?,
        error: row.get(11)?,
        start_time: row.get(12)?,
        end_time: row.get(13)?,
        created: row.get(14)?,
    })
}
