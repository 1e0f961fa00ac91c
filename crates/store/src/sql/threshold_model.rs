//! The models of thresholds, with those that were replaced.

use kiln_model::{Millis, ModelUuid};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub id: i64,
    pub uuid: ModelUuid,
    pub threshold: i64,
    pub test: String,
    pub min_sample_size: Option<u32>,
    pub max_sample_size: Option<u32>,
    /// Seconds.
    pub window: Option<u32>,
    pub lower_boundary: Option<f64>,
    pub upper_boundary: Option<f64>,
    pub min_effect: Option<f64>,
    pub false_discovery_rate: Option<f64>,
    /// A JSON list of patterns.
    pub ignored: String,
    pub created: Millis,
    pub replaced: Option<Millis>,
}

const COLUMNS: &str = "id, uuid, threshold_id, test, min_sample_size, max_sample_size, window_seconds, lower_boundary, \
    upper_boundary, min_effect, false_discovery_rate, ignored, created, replaced";

/// Answers its id. Its own id and times are not looked at.
pub fn insert(tx: &mut dyn Tx, model: &Model) -> Result<i64, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO threshold_model (uuid, threshold_id, test, min_sample_size, max_sample_size, window_seconds, \
         lower_boundary, upper_boundary, min_effect, false_discovery_rate, ignored, created) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) RETURNING id",
        params![
            model.uuid.to_string(),
            model.threshold,
            model.test.as_str(),
            model.min_sample_size,
            model.max_sample_size,
            model.window,
            model.lower_boundary,
            model.upper_boundary,
            model.min_effect,
            model.false_discovery_rate,
            model.ignored.as_str(),
            wall
        ],
    )?;
    super::inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Model>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM threshold_model WHERE id = ?1");
    query
        .query_one(&sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// A model of a threshold, also one that was replaced.
pub fn find_of_threshold<Q: Query + ?Sized>(
    query: &mut Q,
    threshold: i64,
    uuid: &str,
) -> Result<Option<Model>, Error> {
    let sql =
        format!("SELECT {COLUMNS} FROM threshold_model WHERE threshold_id = ?1 AND uuid = ?2");
    query
        .query_one(&sql, params![threshold, uuid])?
        .as_ref()
        .map(read)
        .transpose()
}

/// From now on another one is used.
pub fn replace(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE threshold_model SET replaced = ?2 WHERE id = ?1 AND replaced IS NULL",
        params![id, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Model, Error> {
    Ok(Model {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        threshold: row.get(2)?,
        test: row.get(3)?,
        min_sample_size: row.get(4)?,
        max_sample_size: row.get(5)?,
        window: row.get(6)?,
        lower_boundary: row.get(7)?,
        upper_boundary: row.get(8)?,
        min_effect: row.get(9)?,
        false_discovery_rate: row.get(10)?,
        ignored: row.get(11)?,
        created: row.get(12)?,
        replaced: row.get(13)?,
    })
}
