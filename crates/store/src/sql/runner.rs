//! Runners and the hash of their one live credential.

use kiln_model::{Millis, ResourceName, RunnerUuid, Slug};

use super::listing::{self, Listing, Page, Source};
use crate::{Bell, Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Runner {
    pub id: i64,
    pub uuid: RunnerUuid,
    pub name: ResourceName,
    pub slug: Slug,
    pub key_version: i64,
    pub last_heartbeat: Option<Millis>,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
    /// Since when it is given nothing more.
    pub draining: Option<Millis>,
    /// What it last told about itself and its host, as JSON.
    pub metadata: Option<String>,
}

macro_rules! columns {
    () => {
        "id, uuid, name, slug, key_version, last_heartbeat, created, modified, archived, draining, metadata"
    };
}

const SOURCE: Source = Source {
    columns: columns!(),
    from: "runner",
    name: "runner",
    searched: &["runner.name", "runner.slug"],
};

pub fn insert(
    tx: &mut dyn Tx,
    uuid: RunnerUuid,
    name: &ResourceName,
    slug: &Slug,
    key_hash: &str,
) -> Result<i64, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO runner (uuid, name, slug, key_hash, key_version, created, modified) \
         VALUES (?1, ?2, ?3, ?4, 1, ?5, ?5) RETURNING id",
        params![
            uuid.to_string(),
            name.as_str(),
            slug.as_str(),
            key_hash,
            wall
        ],
    )?;
    super::inserted_id(row)
}

/// Replaces the credential; the old one is dead at once.
pub fn set_key(tx: &mut dyn Tx, id: i64, key_hash: &str) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE runner SET key_hash = ?2, key_version = key_version + 1, modified = ?3 WHERE id = ?1",
        params![id, key_hash, wall],
    )?;
    // Open channels look again, on whichever server they are.
    tx.ring(Bell::Runner(id));
    Ok(())
}

/// Whether a credential of this version still speaks for the runner.
pub fn is_current<Q: Query + ?Sized>(
    query: &mut Q,
    id: i64,
    key_version: i64,
) -> Result<bool, Error> {
    let row = query.query_one(
        "SELECT id FROM runner WHERE id = ?1 AND key_version = ?2 AND archived IS NULL",
        params![id, key_version],
    )?;
    Ok(row.is_some())
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Runner>, Error> {
    let sql = concat!("SELECT ", columns!(), " FROM runner WHERE id = ?1");
    query
        .query_one(sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// By UUID or slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
) -> Result<Option<Runner>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM runner WHERE uuid = ?1 OR slug = ?1"
    );
    query
        .query_one(sql, params![reference])?
        .as_ref()
        .map(read)
        .transpose()
}

/// The unarchived runner that has both this name in the path and this key: one query, so that a wrong key and an
/// unknown runner look alike.
pub fn authenticate<Q: Query + ?Sized>(
    query: &mut Q,
    reference: &str,
    key_hash: &str,
) -> Result<Option<Runner>, Error> {
    let sql = concat!(
        "SELECT ",
        columns!(),
        " FROM runner WHERE key_hash = ?2 AND (uuid = ?1 OR slug = ?1) AND archived IS NULL"
    );
    query
        .query_one(sql, params![reference, key_hash])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn list<Q: Query + ?Sized>(query: &mut Q, listing: &Listing) -> Result<Page<Runner>, Error> {
    let condition = "(?3 = 1 OR runner.archived IS NULL)";
    let more = vec![Value::from(listing.archived)];
    listing::page(query, &SOURCE, condition, more, listing, read)
}

/// Writes what people may change; an archived runner's credential opens nothing.
pub fn update(tx: &mut dyn Tx, runner: &Runner) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE runner SET name = ?2, slug = ?3, archived = ?4, key_version = ?5, modified = ?6, draining = ?7 \
         WHERE id = ?1",
        params![
            runner.id,
            runner.name.as_str(),
            runner.slug.as_str(),
            runner.archived,
            runner.key_version,
            wall,
            runner.draining
        ],
    )?;
    // Open channels look again, on whichever server they are.
    tx.ring(Bell::Runner(runner.id));
    Ok(())
}

/// Keeps what it told about itself.
pub fn introduced(tx: &mut dyn Tx, id: i64, metadata: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE runner SET metadata = ?2 WHERE id = ?1",
        params![id, metadata],
    )?;
    Ok(())
}

pub fn heard(tx: &mut dyn Tx, id: i64, at: Millis) -> Result<(), Error> {
    tx.execute(
        "UPDATE runner SET last_heartbeat = ?2 WHERE id = ?1",
        params![id, at],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Runner, Error> {
    Ok(Runner {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        key_version: row.get(4)?,
        last_heartbeat: row.get(5)?,
        created: row.get(6)?,
        modified: row.get(7)?,
        archived: row.get(8)?,
        draining: row.get(9)?,
        metadata: row.get(10)?,
    })
}
