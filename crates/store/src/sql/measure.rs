//! Measures of a project: what is measured, in which units, and which way it gets better.

use kiln_model::{MeasureUuid, Millis, ResourceName, Slug};

use super::dimension::{self, Dimension};
use crate::{Error, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    pub id: i64,
    pub uuid: MeasureUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub units: String,
    pub direction: Option<String>,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
}

/// What a new measure is like.
#[derive(Clone, Debug)]
pub struct NewMeasure {
    pub uuid: MeasureUuid,
    pub name: String,
    pub slug: Option<Slug>,
    pub units: String,
    pub direction: Option<String>,
}

impl Dimension for Measure {
    const KIND: &'static str = "measure";
    const TABLE: &'static str = "measure";
    const COLUMNS: &'static str =
        "id, uuid, name, slug, units, direction, created, modified, archived";
    const IN_USE: &'static str = "SELECT 1 FROM series WHERE measure_id = ?1 LIMIT 1";

    fn read(row: &Row) -> Result<Self, Error> {
        Ok(Self {
            id: row.get(0)?,
            uuid: super::parse(row, 1)?,
            name: super::parse(row, 2)?,
            slug: super::parse(row, 3)?,
            units: row.get(4)?,
            direction: row.get(5)?,
            created: row.get(6)?,
            modified: row.get(7)?,
            archived: row.get(8)?,
        })
    }
}

/// Answers its id; nothing when the name is taken.
pub fn insert(tx: &mut dyn Tx, project: i64, new: &NewMeasure) -> Result<Option<i64>, Error> {
    let uuid = new.uuid.to_string();
    let slug = match &new.slug {
        Some(slug) => slug.as_str().to_owned(),
        None => dimension::free_slug::<Measure>(tx, project, &new.name, &uuid)?,
    };
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO measure (uuid, project_id, name, slug, units, direction, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7) ON CONFLICT (project_id, name) DO NOTHING RETURNING id",
        params![
            uuid,
            project,
            new.name.as_str(),
            slug,
            new.units.as_str(),
            new.direction.as_deref(),
            wall
        ],
    )?;
    row.map(|row| row.get(0)).transpose()
}

/// Changes what only measures have.
pub fn describe(
    tx: &mut dyn Tx,
    id: i64,
    units: Option<&str>,
    direction: Option<&str>,
) -> Result<(), Error> {
    tx.execute(
        "UPDATE measure SET units = COALESCE(?2, units), direction = COALESCE(?3, direction) WHERE id = ?1",
        params![id, units, direction],
    )?;
    Ok(())
}
