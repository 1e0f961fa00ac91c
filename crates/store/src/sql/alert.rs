//! Alerts: metrics outside of their boundary.

use kiln_model::{AlertUuid, Millis};

use super::archive::{BRANCH, MEASURE, TESTBED, is_archived};
use super::dimension::{Page, Sort};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    pub id: i64,
    pub uuid: AlertUuid,
    pub report: i64,
    pub series: i64,
    pub iteration: i64,
    pub threshold: Option<i64>,
    /// `lower` or `upper`.
    pub crossed: String,
    /// `active`, `dismissed` or `silenced`.
    pub status: String,
    pub created: Millis,
    pub modified: Millis,
}

/// What a new alert is about.
#[derive(Clone, Copy, Debug)]
pub struct NewAlert {
    pub uuid: AlertUuid,
    pub project: i64,
    pub report: i64,
    pub series: i64,
    pub iteration: i64,
    pub threshold: i64,
    pub crossed: &'static str,
}

const COLUMNS: &str =
    "id, uuid, report_id, series_id, iteration, threshold_id, crossed, status, created, modified";

/// Which alerts a list is to hold.
#[derive(Clone, Copy, Debug, Default)]
pub struct Filter<'a> {
    pub status: Option<&'a str>,
    /// Those of archived branches, testbeds and measures, or all others.
    pub archived: bool,
}

pub fn insert(tx: &mut dyn Tx, new: NewAlert) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO alert (uuid, project_id, report_id, series_id, iteration, threshold_id, crossed, status, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 'active', ?8, ?8)",
        params![
            new.uuid.to_string(),
            new.project,
            new.report,
            new.series,
            new.iteration,
            new.threshold,
            new.crossed,
            wall
        ],
    )?;
    Ok(())
}

pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<Option<Alert>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM alert WHERE project_id = ?1 AND uuid = ?2");
    query
        .query_one(&sql, params![project, uuid])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn of_report<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Vec<Alert>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM alert WHERE report_id = ?1 ORDER BY id");
    let rows = query.query(&sql, params![report])?;
    rows.iter().map(read).collect()
}

pub fn of_series<Q: Query + ?Sized>(query: &mut Q, series: i64) -> Result<Vec<Alert>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM alert WHERE series_id = ?1 ORDER BY id");
    let rows = query.query(&sql, params![series])?;
    rows.iter().map(read).collect()
}

/// How many there are of a report, and how many of them are active.
pub fn count_of_report<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<(u32, u32), Error> {
    let row = query.query_one(
        "SELECT COUNT(*), COUNT(CASE WHEN status = 'active' THEN 1 END) FROM alert WHERE report_id = ?1",
        params![report],
    )?;
    row.map_or(Ok((0, 0)), |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Active ones first, then the newest.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: Filter<'_>,
    page: Page,
) -> Result<Vec<Alert>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let (first, column) = match page.sort {
        Sort::Usual => (
            "CASE WHEN status = 'active' THEN 0 ELSE 1 END, ",
            "modified",
        ),
        Sort::Created => ("", "created"),
        Sort::Modified | Sort::Title => ("", "modified"),
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM alert WHERE {} \
         ORDER BY {first}{column} {order}, id {order} LIMIT ?4 OFFSET ?5",
        listed()
    );
    let rows = query.query(
        &sql,
        params![
            project,
            filter.status,
            filter.archived,
            page.limit,
            page.offset
        ],
    )?;
    rows.iter().map(read).collect()
}

pub fn count<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: Filter<'_>,
) -> Result<i64, Error> {
    super::count(
        query,
        &format!("SELECT COUNT(*) FROM alert WHERE {}", listed()),
        params![project, filter.status, filter.archived],
    )
}

fn listed() -> String {
    format!(
        "project_id = ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) \
         AND (threshold_id IN (SELECT id FROM threshold WHERE project_id = ?1 AND {})) = (?3 <> 0)",
        is_archived(&[BRANCH, TESTBED, MEASURE])
    )
}

pub fn set_status(tx: &mut dyn Tx, id: i64, status: &str) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE alert SET status = ?2, modified = ?3 WHERE id = ?1",
        params![id, status, wall],
    )?;
    Ok(())
}

/// The alerts of a head that was replaced are nobody's business any more.
pub fn silence_head(tx: &mut dyn Tx, head: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE alert SET status = 'silenced', modified = ?2 WHERE status = 'active' \
         AND report_id IN (SELECT id FROM report WHERE head_id = ?1)",
        params![head, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Alert, Error> {
    Ok(Alert {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        report: row.get(2)?,
        series: row.get(3)?,
        iteration: row.get(4)?,
        threshold: row.get(5)?,
        crossed: row.get(6)?,
        status: row.get(7)?,
        created: row.get(8)?,
        modified: row.get(9)?,
    })
}
