//! Testbeds of a project: where its reports were measured.

use kiln_model::{Millis, ResourceName, Slug, TestbedUuid};

use super::dimension::{self, Dimension};
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Testbed {
    pub id: i64,
    pub uuid: TestbedUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub spec: Option<i64>,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
}

impl Dimension for Testbed {
    const KIND: &'static str = "testbed";
    const TABLE: &'static str = "testbed";
    const COLUMNS: &'static str = "id, uuid, name, slug, spec_id, created, modified, archived";
    const IN_USE: &'static str = "SELECT 1 FROM report WHERE testbed_id = ?1 LIMIT 1";

    fn read(row: &Row) -> Result<Self, Error> {
        read(row)
    }
}

macro_rules! select {
    ($filter:literal) => {
        concat!(
            "SELECT id, uuid, name, slug, spec_id, created, modified, archived FROM testbed WHERE ",
            $filter
        )
    };
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Testbed>, Error> {
    query
        .query_one(select!("id = ?1"), params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// The testbed of that name; on `spec` from now on, if there is one.
pub fn ensure(
    tx: &mut dyn Tx,
    project: i64,
    name: &ResourceName,
    spec: Option<i64>,
    uuid: TestbedUuid,
) -> Result<Testbed, Error> {
    let by_name = select!("project_id = ?1 AND name = ?2");
    let found = tx.query_one(by_name, params![project, name.as_str()])?;
    let found = found.as_ref().map(read).transpose()?;
    // As it is with most runs.
    let is_right =
        |found: &Testbed| found.archived.is_none() && (spec.is_none() || found.spec == spec);
    if let Some(found) = found.filter(is_right) {
        return Ok(found);
    }
    let wall = tx.wall();
    let slug = dimension::free_slug::<Testbed>(tx, project, name.as_str(), &uuid.to_string())?;
    tx.execute(
        "INSERT INTO testbed (uuid, project_id, name, slug, spec_id, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) \
         ON CONFLICT (project_id, name) DO UPDATE \
         SET spec_id = COALESCE(excluded.spec_id, testbed.spec_id), archived = NULL",
        params![uuid.to_string(), project, name.as_str(), slug, spec, wall],
    )?;
    let row = tx.query_one(by_name, params![project, name.as_str()])?;
    read(&row.ok_or_else(|| Error::Corrupt {
        what: format!("testbed {name} vanished"),
    })?)
}

/// A new one; nothing when the name is taken.
pub fn insert(
    tx: &mut dyn Tx,
    project: i64,
    uuid: TestbedUuid,
    name: &ResourceName,
    slug: Option<&Slug>,
    spec: Option<i64>,
) -> Result<Option<i64>, Error> {
    let slug = match slug {
        Some(slug) => slug.as_str().to_owned(),
        None => dimension::free_slug::<Testbed>(tx, project, name.as_str(), &uuid.to_string())?,
    };
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO testbed (uuid, project_id, name, slug, spec_id, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) ON CONFLICT (project_id, name) DO NOTHING RETURNING id",
        params![uuid.to_string(), project, name.as_str(), slug, spec, wall],
    )?;
    row.map(|row| row.get(0)).transpose()
}

pub fn set_spec(tx: &mut dyn Tx, id: i64, spec: Option<i64>) -> Result<(), Error> {
    tx.execute(
        "UPDATE testbed SET spec_id = ?2 WHERE id = ?1",
        params![id, spec],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Testbed, Error> {
    Ok(Testbed {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        spec: row.get(4)?,
        created: row.get(5)?,
        modified: row.get(6)?,
        archived: row.get(7)?,
    })
}
