//! Plots that a project keeps.

use kiln_model::{Millis, PlotUuid};

use super::dimension::{Page, Sort};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four columns that are switches"
)]
pub struct Plot {
    pub id: i64,
    pub uuid: PlotUuid,
    pub title: Option<String>,
    /// Plots are shown in this order.
    pub place: i64,
    pub lower_value: bool,
    pub upper_value: bool,
    pub lower_boundary: bool,
    pub upper_boundary: bool,
    pub x_axis: String,
    pub y_axis: String,
    /// Seconds.
    pub window: u32,
    /// JSON lists of UUIDs.
    pub branches: String,
    pub testbeds: String,
    pub benchmarks: String,
    pub measures: String,
    pub created: Millis,
    pub modified: Millis,
}

const COLUMNS: &str = "id, uuid, title, place, lower_value, upper_value, lower_boundary, upper_boundary, x_axis, y_axis, \
    window_seconds, branches, testbeds, benchmarks, measures, created, modified";
const LISTED: &str = "project_id = ?1 AND (CAST(?2 AS TEXT) IS NULL OR title = ?2) \
    AND (CAST(?3 AS TEXT) IS NULL OR LOWER(title) LIKE ?3 ESCAPE '!')";

pub fn insert(tx: &mut dyn Tx, project: i64, plot: &Plot) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO plot (uuid, project_id, title, place, lower_value, upper_value, lower_boundary, upper_boundary, x_axis, \
         y_axis, window_seconds, branches, testbeds, benchmarks, measures, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?16)",
        params![
            plot.uuid.to_string(),
            project,
            plot.title.as_deref(),
            plot.place,
            plot.lower_value,
            plot.upper_value,
            plot.lower_boundary,
            plot.upper_boundary,
            plot.x_axis.as_str(),
            plot.y_axis.as_str(),
            plot.window,
            plot.branches.as_str(),
            plot.testbeds.as_str(),
            plot.benchmarks.as_str(),
            plot.measures.as_str(),
            plot.created
        ],
    )?;
    Ok(())
}

pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: &str,
) -> Result<Option<Plot>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM plot WHERE project_id = ?1 AND uuid = ?2");
    query
        .query_one(&sql, params![project, uuid])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    title: Option<&str>,
    search: Option<&str>,
    page: Page,
) -> Result<Vec<Plot>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let column = match page.sort {
        Sort::Title => "COALESCE(title, '')",
        Sort::Usual | Sort::Created | Sort::Modified => "place",
    };
    let sql = format!(
        "SELECT {COLUMNS} FROM plot WHERE {LISTED} ORDER BY {column} {order}, id {order} LIMIT ?4 OFFSET ?5"
    );
    let rows = query.query(
        &sql,
        params![
            project,
            title,
            search.map(super::listing::pattern),
            page.limit,
            page.offset
        ],
    )?;
    rows.iter().map(read).collect()
}

pub fn count<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    title: Option<&str>,
    search: Option<&str>,
) -> Result<i64, Error> {
    super::count(
        query,
        &format!("SELECT COUNT(*) FROM plot WHERE {LISTED}"),
        params![project, title, search.map(super::listing::pattern)],
    )
}

/// Every plot's id and place, in order.
pub fn places<Q: Query + ?Sized>(query: &mut Q, project: i64) -> Result<Vec<(i64, i64)>, Error> {
    let rows = query.query(
        "SELECT id, place FROM plot WHERE project_id = ?1 ORDER BY place, id",
        params![project],
    )?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

pub fn set_place(tx: &mut dyn Tx, id: i64, place: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE plot SET place = ?2 WHERE id = ?1",
        params![id, place],
    )?;
    Ok(())
}

/// Writes title, place and window.
pub fn update(tx: &mut dyn Tx, plot: &Plot) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE plot SET title = ?2, place = ?3, window_seconds = ?4, modified = ?5 WHERE id = ?1",
        params![
            plot.id,
            plot.title.as_deref(),
            plot.place,
            plot.window,
            wall
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM plot WHERE id = ?1", params![id])?;
    Ok(())
}

fn read(row: &Row) -> Result<Plot, Error> {
    Ok(Plot {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        title: row.get(2)?,
        place: row.get(3)?,
        lower_value: row.get(4)?,
        upper_value: row.get(5)?,
        lower_boundary: row.get(6)?,
        upper_boundary: row.get(7)?,
        x_axis: row.get(8)?,
        y_axis: row.get(9)?,
        window: row.get(10)?,
        branches: row.get(11)?,
        testbeds: row.get(12)?,
        benchmarks: row.get(13)?,
        measures: row.get(14)?,
        created: row.get(15)?,
        modified: row.get(16)?,
    })
}
