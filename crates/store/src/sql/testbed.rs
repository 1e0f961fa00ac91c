//! Testbeds of a project: where its reports were measured.

use kiln_model::{Millis, ResourceName, Slug, TestbedUuid};

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
}

macro_rules! select {
    ($filter:literal) => {
        concat!(
            "SELECT id, uuid, name, slug, spec_id, created, modified FROM testbed WHERE ",
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

/// By UUID, name or slug; a name goes before a slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
) -> Result<Option<Testbed>, Error> {
    query
        .query_one(
            select!(
                "project_id = ?1 AND (uuid = ?2 OR name = ?2 OR slug = ?2) \
                 ORDER BY CASE WHEN uuid = ?2 THEN 0 WHEN name = ?2 THEN 1 ELSE 2 END, id LIMIT 1"
            ),
            params![project, reference],
        )?
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
    let wall = tx.wall();
    let slug = Slug::suggest(name.as_str())
        .map_or_else(|| uuid.to_string(), |slug| slug.as_str().to_owned());
    tx.execute(
        "INSERT INTO testbed (uuid, project_id, name, slug, spec_id, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6) \
         ON CONFLICT (project_id, name) DO UPDATE SET spec_id = COALESCE(excluded.spec_id, testbed.spec_id)",
        params![uuid.to_string(), project, name.as_str(), slug, spec, wall],
    )?;
    let row = tx.query_one(
        select!("project_id = ?1 AND name = ?2"),
        params![project, name.as_str()],
    )?;
    read(&row.ok_or_else(|| Error::Corrupt {
        what: format!("testbed {name} vanished"),
    })?)
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
    })
}
