//! Reports: what a run is to tell, and what was read out of its output.

use kiln_model::{GitHash, Millis, ReportUuid};

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

pub fn insert(
    tx: &mut dyn Tx,
    report: &Report,
    idempotency_key: Option<&str>,
) -> Result<i64, Error> {
    let row = tx.query_one(
        "INSERT INTO report (uuid, project_id, account_id, idempotency_key, branch_id, version, git_hash, testbed_id, \
         adapter, settings, status, start_time, end_time, created) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) RETURNING id",
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

pub fn set_times(tx: &mut dyn Tx, id: i64, start: Millis, end: Millis) -> Result<(), Error> {
    tx.execute(
        "UPDATE report SET start_time = ?2, end_time = ?3 WHERE id = ?1",
        params![id, start, end],
    )?;
    Ok(())
}

pub fn add_metric(tx: &mut dyn Tx, report: i64, metric: &ReportMetric) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO report_metric (report_id, iteration, benchmark, measure, value, lower_value, upper_value) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            report,
            metric.iteration,
            metric.benchmark.as_str(),
            metric.measure.as_str(),
            metric.value,
            metric.lower_value,
            metric.upper_value
        ],
    )?;
    Ok(())
}

pub fn metrics<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Vec<ReportMetric>, Error> {
    query
        .query(
            "SELECT iteration, benchmark, measure, value, lower_value, upper_value FROM report_metric \
             WHERE report_id = ?1 ORDER BY iteration, benchmark, measure",
            params![report],
        )?
        .iter()
        .map(|row| {
            Ok(ReportMetric {
                iteration: row.get(0)?,
                benchmark: row.get(1)?,
                measure: row.get(2)?,
                value: row.get(3)?,
                lower_value: row.get(4)?,
                upper_value: row.get(5)?,
            })
        })
        .collect()
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
