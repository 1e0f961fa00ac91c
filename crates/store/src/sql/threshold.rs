//! Thresholds: which model judges the metrics of a branch, testbed and measure.

use kiln_model::{Millis, ThresholdUuid};

use super::archive::{BRANCH, MEASURE, TESTBED, is_archived};
use super::dimension::{Page, Sort};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Threshold {
    pub id: i64,
    pub uuid: ThresholdUuid,
    pub branch: i64,
    pub testbed: i64,
    pub measure: i64,
    /// Nothing for all benchmarks.
    pub benchmark: Option<i64>,
    pub model: Option<i64>,
    pub created: Millis,
    pub modified: Millis,
}

/// What a threshold is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope {
    pub branch: i64,
    pub testbed: i64,
    pub measure: i64,
    pub benchmark: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Filter {
    pub branch: Option<i64>,
    pub testbed: Option<i64>,
    pub measure: Option<i64>,
    /// Those of archived branches, testbeds and measures, or all others.
    pub archived: bool,
}

const COLUMNS: &str =
    "id, uuid, branch_id, testbed_id, measure_id, benchmark_id, model_id, created, modified";

/// Answers its id; nothing when the scope has one already.
pub fn insert(
    tx: &mut dyn Tx,
    project: i64,
    uuid: ThresholdUuid,
    scope: Scope,
) -> Result<Option<i64>, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO threshold (uuid, project_id, branch_id, testbed_id, measure_id, benchmark_id, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT DO NOTHING RETURNING id",
        params![
            uuid.to_string(),
            project,
            scope.branch,
            scope.testbed,
            scope.measure,
            scope.benchmark,
            wall
        ],
    )?;
    row.map(|row| row.get(0)).transpose()
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Threshold>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM threshold WHERE id = ?1");
    query
        .query_one(&sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<Option<Threshold>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM threshold WHERE project_id = ?1 AND uuid = ?2");
    query
        .query_one(&sql, params![project, uuid])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find_by_scope<Q: Query + ?Sized>(
    query: &mut Q,
    scope: Scope,
) -> Result<Option<Threshold>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM threshold WHERE branch_id = ?1 AND testbed_id = ?2 AND measure_id = ?3 \
         AND COALESCE(benchmark_id, 0) = ?4"
    );
    let benchmark = scope.benchmark.unwrap_or(0);
    query
        .query_one(
            &sql,
            params![scope.branch, scope.testbed, scope.measure, benchmark],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

/// Those of a branch on a testbed that have a model.
pub fn live<Q: Query + ?Sized>(
    query: &mut Q,
    branch: i64,
    testbed: i64,
) -> Result<Vec<Threshold>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM threshold WHERE branch_id = ?1 AND testbed_id = ?2 AND model_id IS NOT NULL ORDER BY id"
    );
    let rows = query.query(&sql, params![branch, testbed])?;
    rows.iter().map(read).collect()
}

pub fn of_branch<Q: Query + ?Sized>(query: &mut Q, branch: i64) -> Result<Vec<Threshold>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM threshold WHERE branch_id = ?1 ORDER BY id");
    let rows = query.query(&sql, params![branch])?;
    rows.iter().map(read).collect()
}

pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    filter: Filter,
    page: Page,
) -> Result<Vec<Threshold>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let column = match page.sort {
        Sort::Modified => "modified",
        Sort::Usual | Sort::Created | Sort::Title => "created",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM threshold WHERE {} ORDER BY {column} {order}, id {order} LIMIT ?6 OFFSET ?7",
        listed()
    );
    let rows = query.query(
        &sql,
        params![
            project,
            filter.branch,
            filter.testbed,
            filter.measure,
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
        &format!("SELECT COUNT(*) FROM threshold WHERE {}", listed()),
        params![
            project,
            filter.branch,
            filter.testbed,
            filter.measure,
            filter.archived
        ],
    )
}

fn listed() -> String {
    format!(
        "project_id = ?1 AND (CAST(?2 AS BIGINT) IS NULL OR branch_id = ?2) \
         AND (CAST(?3 AS BIGINT) IS NULL OR testbed_id = ?3) AND (CAST(?4 AS BIGINT) IS NULL OR measure_id = ?4) \
         AND {} = (?5 <> 0)",
        is_archived(&[BRANCH, TESTBED, MEASURE])
    )
}

/// Judges by this model from now on, or by none.
pub fn set_model(tx: &mut dyn Tx, id: i64, model: Option<i64>) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE threshold SET model_id = ?2, modified = ?3 WHERE id = ?1",
        params![id, model, wall],
    )?;
    Ok(())
}

pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM threshold WHERE id = ?1", params![id])?;
    Ok(())
}

fn read(row: &Row) -> Result<Threshold, Error> {
    Ok(Threshold {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        branch: row.get(2)?,
        testbed: row.get(3)?,
        measure: row.get(4)?,
        benchmark: row.get(5)?,
        model: row.get(6)?,
        created: row.get(7)?,
        modified: row.get(8)?,
    })
}
