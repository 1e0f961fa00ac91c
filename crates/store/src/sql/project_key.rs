//! Keys of projects. A key itself is never stored, only its SHA-256.

use kiln_model::{KeyUuid, Millis, ResourceName, UserUuid};

use super::listing::{self, Listing, Page, Source};
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectKey {
    pub id: i64,
    pub uuid: KeyUuid,
    pub project: i64,
    pub creator: Option<UserUuid>,
    pub name: ResourceName,
    pub created: Millis,
    pub expires: Millis,
    pub revoked: Option<Millis>,
}

macro_rules! columns {
    () => {
        "project_key.id, project_key.uuid, project_key.project_id, account.uuid, project_key.name, \
         project_key.created, project_key.expires, project_key.revoked"
    };
}

macro_rules! from {
    () => {
        "project_key LEFT JOIN account ON account.id = project_key.creator_id"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: from!(),
    name: "project_key",
    searched: &["project_key.name"],
};

/// What a new key is made of.
#[derive(Clone, Debug)]
pub struct NewProjectKey<'a> {
    pub uuid: KeyUuid,
    pub project: i64,
    pub creator: Option<i64>,
    pub name: &'a ResourceName,
    pub hash: &'a str,
    pub expires: Millis,
}

pub fn insert(tx: &mut dyn Tx, key: &NewProjectKey<'_>) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO project_key (uuid, project_id, creator_id, name, hash, created, expires) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            key.uuid.to_string(),
            key.project,
            key.creator,
            key.name.as_str(),
            key.hash,
            wall,
            key.expires
        ],
    )?;
    Ok(())
}

macro_rules! select_live {
    ($column:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM ",
            from!(),
            " JOIN project ON project.id = project_key.project_id WHERE project_key.",
            $column,
            " = ?1 AND project_key.revoked IS NULL AND project_key.expires > ?2 \
             AND project.deleted IS NULL"
        )
    };
}

/// The live key with this hash, of a project that is there.
pub fn find_by_hash<Q: Query + ?Sized>(
    query: &mut Q,
    hash: &str,
    wall: Millis,
) -> Result<Option<ProjectKey>, Error> {
    query
        .query_one(select_live!("hash"), params![hash, wall])?
        .as_ref()
        .map(read)
        .transpose()
}

/// The same by its UUID.
pub fn find_live<Q: Query + ?Sized>(
    query: &mut Q,
    uuid: KeyUuid,
    wall: Millis,
) -> Result<Option<ProjectKey>, Error> {
    query
        .query_one(select_live!("uuid"), params![uuid.to_string(), wall])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    uuid: KeyUuid,
) -> Result<Option<ProjectKey>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM ",
        from!(),
        " WHERE project_key.uuid = ?1 AND project_key.project_id = ?2"
    );
    query
        .query_one(sql, params![uuid.to_string(), project])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    listing: &Listing,
) -> Result<Page<ProjectKey>, Error> {
    let condition = "project_key.project_id = ?3 AND (?4 = 1 OR project_key.revoked IS NULL)";
    let more = vec![Value::Int(project), Value::from(listing.archived)];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

pub fn rename(tx: &mut dyn Tx, id: i64, name: &ResourceName) -> Result<(), Error> {
    tx.execute(
        "UPDATE project_key SET name = ?2 WHERE id = ?1",
        params![id, name.as_str()],
    )?;
    Ok(())
}

/// The key is dead at once. What was revoked before keeps its time.
pub fn revoke(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE project_key SET revoked = ?2 WHERE id = ?1 AND revoked IS NULL",
        params![id, wall],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<ProjectKey, Error> {
    Ok(ProjectKey {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        project: row.get(2)?,
        creator: super::parse_optional(row, 3)?,
        name: super::parse(row, 4)?,
        created: row.get(5)?,
        expires: row.get(6)?,
        revoked: row.get(7)?,
    })
}
