//! Organizations and their projects.

use kiln_model::{Millis, OrganizationUuid, ProjectUuid, ResourceName, Slug};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    pub id: i64,
    pub uuid: ProjectUuid,
    pub organization_id: i64,
    pub organization: OrganizationUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub created: Millis,
    pub modified: Millis,
}

macro_rules! select {
    () => {
        "SELECT project.id, project.uuid, project.organization_id, organization.uuid, project.name, \
         project.slug, project.created, project.modified \
         FROM project JOIN organization ON organization.id = project.organization_id"
    };
}
pub fn insert_organization(
    tx: &mut dyn Tx,
    uuid: OrganizationUuid,
    name: &ResourceName,
    slug: &Slug,
) -> Result<i64, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO organization (uuid, name, slug, created, modified) VALUES (?1, ?2, ?3, ?4, ?4) \
         RETURNING id",
        params![uuid.to_string(), name.as_str(), slug.as_str(), wall],
    )?;
    super::inserted_id(row)
}

pub fn find_organization<Q: Query + ?Sized>(
    query: &mut Q,
    slug: &Slug,
) -> Result<Option<i64>, Error> {
    query
        .query_one(
            "SELECT id FROM organization WHERE slug = ?1",
            params![slug.as_str()],
        )?
        .map(|row| row.get(0))
        .transpose()
}

pub fn insert(
    tx: &mut dyn Tx,
    uuid: ProjectUuid,
    organization: i64,
    name: &ResourceName,
    slug: &Slug,
) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO project (uuid, organization_id, name, slug, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?5)",
        params![
            uuid.to_string(),
            organization,
            name.as_str(),
            slug.as_str(),
            wall
        ],
    )?;
    Ok(())
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Project>, Error> {
    query
        .query_one(concat!(select!(), " WHERE project.id = ?1"), params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// By UUID or slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
) -> Result<Option<Project>, Error> {
    query
        .query_one(
            concat!(select!(), " WHERE project.uuid = ?1 OR project.slug = ?1"),
            params![reference],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

fn read(row: &Row) -> Result<Project, Error> {
    Ok(Project {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        organization_id: row.get(2)?,
        organization: super::parse(row, 3)?,
        name: super::parse(row, 4)?,
        slug: super::parse(row, 5)?,
        created: row.get(6)?,
        modified: row.get(7)?,
    })
}
