//! Benchmarks of a project.

use kiln_model::{BenchmarkUuid, Millis, Slug};

use super::dimension::{self, Dimension};
use super::list::query_list;
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Benchmark {
    pub id: i64,
    pub uuid: BenchmarkUuid,
    pub name: String,
    pub slug: Slug,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
}

impl Dimension for Benchmark {
    const KIND: &'static str = "benchmark";
    const TABLE: &'static str = "benchmark";
    const COLUMNS: &'static str = "id, uuid, name, slug, created, modified, archived";
    const IN_USE: &'static str = "SELECT 1 FROM series WHERE benchmark_id = ?1 LIMIT 1";

    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.get(0)?,
            uuid: super::parse(row, 1)?,
            name: row.get(2)?,
            slug: super::parse(row, 3)?,
            created: row.get(4)?,
            modified: row.get(5)?,
            archived: row.get(6)?,
        })
    }
}

/// Answers its id; nothing when the name is taken.
pub fn insert(
    tx: &mut dyn Tx,
    project: i64,
    uuid: BenchmarkUuid,
    name: &str,
    slug: Option<&Slug>,
) -> Result<Option<i64>, Error> {
    let slug = match slug {
        Some(slug) => slug.as_str().to_owned(),
        None => dimension::free_slug::<Benchmark>(tx, project, name, &uuid.to_string())?,
    };
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO benchmark (uuid, project_id, name, slug, created, modified) VALUES (?1, ?2, ?3, ?4, ?5, ?5) \
         ON CONFLICT (project_id, name) DO NOTHING RETURNING id",
        params![uuid.to_string(), project, name, slug, wall],
    )?;
    row.map(|row| row.get(0)).transpose()
}

/// The names and ids of those of these names that are there and not archived.
pub fn of_names<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    names: &[&str],
) -> Result<Vec<(String, i64)>, Error> {
    let list: Vec<Value> = names.iter().map(|name| Value::from(*name)).collect();
    let rows = query_list(query, params![project], &list, |places| {
        format!(
            "SELECT name, id FROM benchmark WHERE project_id = ?1 AND name IN {places} AND archived IS NULL"
        )
    })?;
    rows.iter()
        .map(|row| Ok((row.get(0)?, row.get(1)?)))
        .collect()
}

/// Those that a report has metrics of.
pub fn of_report<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Vec<Benchmark>, Error> {
    let sql = format!(
        "SELECT {} FROM benchmark WHERE id IN (SELECT series.benchmark_id FROM metric \
         JOIN series ON series.id = metric.series_id WHERE metric.report_id = ?1)",
        Benchmark::COLUMNS
    );
    let rows = query.query(&sql, params![report])?;
    rows.iter().map(Benchmark::read).collect()
}

/// The id of the benchmark of that name, which is made when there is none. One that was archived comes back.
pub fn ensure(
    tx: &mut dyn Tx,
    project: i64,
    uuid: BenchmarkUuid,
    name: &str,
) -> Result<i64, Error> {
    let found = tx.query_one(
        "SELECT id, archived FROM benchmark WHERE project_id = ?1 AND name = ?2",
        params![project, name],
    )?;
    if let Some(row) = found {
        let id = row.get(0)?;
        if row.get::<Option<Millis>>(1)?.is_some() {
            let back = dimension::Change {
                archived: Some(false),
                ..dimension::Change::default()
            };
            dimension::change::<Benchmark>(tx, id, &back)?;
        }
        return Ok(id);
    }
    match insert(tx, project, uuid, name, None)? {
        Some(id) => Ok(id),
        // Somebody else has just made it.
        None => super::inserted_id(tx.query_one(
            "SELECT id FROM benchmark WHERE project_id = ?1 AND name = ?2",
            params![project, name],
        )?),
    }
}
