//! Heads of branches and their versions. A head counts on from the versions it started with, and those were there before
//! it: among the versions of one head the order of ids is that of numbers, and has an index.

use kiln_model::{GitHash, HeadUuid, Millis};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub id: i64,
    pub uuid: HeadUuid,
    pub branch: i64,
    pub start: Option<Start>,
    pub created: Millis,
    pub replaced: Option<Millis>,
}

/// Where a head began: a version of another head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    pub head: i64,
    pub version: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub id: i64,
    pub number: u32,
    pub git_hash: Option<GitHash>,
}

const COLUMNS: &str = "id, uuid, branch_id, start_head_id, start_version_id, created, replaced";

pub fn insert(
    tx: &mut dyn Tx,
    branch: i64,
    uuid: HeadUuid,
    start: Option<Start>,
) -> Result<i64, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO head (uuid, branch_id, start_head_id, start_version_id, created) VALUES (?1, ?2, ?3, ?4, ?5) \
         RETURNING id",
        params![
            uuid.to_string(),
            branch,
            start.map(|start| start.head),
            start.map(|start| start.version),
            wall
        ],
    )?;
    super::inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Head>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM head WHERE id = ?1");
    query
        .query_one(&sql, params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn find_of_branch<Q: Query + ?Sized>(
    query: &mut Q,
    branch: i64,
    uuid: &str,
) -> Result<Option<Head>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM head WHERE branch_id = ?1 AND uuid = ?2");
    query
        .query_one(&sql, params![branch, uuid])?
        .as_ref()
        .map(read)
        .transpose()
}

/// Another head takes its place.
pub fn replace(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE head SET replaced = ?2 WHERE id = ?1",
        params![id, wall],
    )?;
    Ok(())
}

/// Gives a head the versions of another, up to one and at most so many of the newest.
pub fn clone_versions(tx: &mut dyn Tx, head: i64, start: Start, most: u32) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO head_version (head_id, version_id) SELECT ?1, version_id FROM head_version \
         WHERE head_id = ?2 AND version_id <= ?3 ORDER BY version_id DESC LIMIT ?4",
        params![head, start.head, start.version, most],
    )?;
    Ok(())
}

/// The number of the version that a report of this commit belongs to; it is made when there is none.
pub fn ensure_version(tx: &mut dyn Tx, head: i64, hash: Option<&GitHash>) -> Result<u32, Error> {
    if let Some(hash) = hash
        && let Some(version) = version_of_hash(tx, head, hash)?
    {
        return Ok(version.number);
    }
    let number = newest_version(tx, head)?.map_or(0, |version| version.number + 1);
    let row = tx.query_one(
        "INSERT INTO version (head_id, number, git_hash) VALUES (?1, ?2, ?3) RETURNING id",
        params![head, number, hash.map(GitHash::as_str)],
    )?;
    let id = super::inserted_id(row)?;
    tx.execute(
        "INSERT INTO head_version (head_id, version_id) VALUES (?1, ?2)",
        params![head, id],
    )?;
    Ok(number)
}

pub fn version<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Version>, Error> {
    let row = query.query_one(
        "SELECT id, number, git_hash FROM version WHERE id = ?1",
        params![id],
    )?;
    row.as_ref().map(read_version).transpose()
}

/// The newest version of a head that was made of this commit. Few versions are: they are looked for among those, and not
/// among all of the head's.
pub fn version_of_hash<Q: Query + ?Sized>(
    query: &mut Q,
    head: i64,
    hash: &GitHash,
) -> Result<Option<Version>, Error> {
    let rows = query.query(
        "SELECT id, number, git_hash FROM version WHERE git_hash = ?2 AND EXISTS \
         (SELECT 1 FROM head_version WHERE head_version.head_id = ?1 AND head_version.version_id = version.id) \
         ORDER BY number DESC LIMIT 1",
        params![head, hash.as_str()],
    )?;
    rows.first().map(read_version).transpose()
}

/// A head counts on from the versions it started with: any of its own is newer than those, and the newest of its own is
/// found without looking at the others.
pub fn newest_version<Q: Query + ?Sized>(
    query: &mut Q,
    head: i64,
) -> Result<Option<Version>, Error> {
    let own = query.query(
        "SELECT id, number, git_hash FROM version WHERE head_id = ?1 ORDER BY number DESC LIMIT 1",
        params![head],
    )?;
    if let Some(own) = own.first() {
        return read_version(own).map(Some);
    }
    let inherited = query.query(
        "SELECT version.id, version.number, version.git_hash FROM head_version \
         JOIN version ON version.id = head_version.version_id \
         WHERE head_version.head_id = ?1 ORDER BY head_version.version_id DESC LIMIT 1",
        params![head],
    )?;
    inherited.first().map(read_version).transpose()
}

fn read_version(row: &Row) -> Result<Version, Error> {
    Ok(Version {
        id: row.get(0)?,
        number: row.get(1)?,
        git_hash: super::parse_optional(row, 2)?,
    })
}

fn read(row: &Row) -> Result<Head, Error> {
    let head: Option<i64> = row.get(3)?;
    let version: Option<i64> = row.get(4)?;
    Ok(Head {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        branch: row.get(2)?,
        start: head
            .zip(version)
            .map(|(head, version)| Start { head, version }),
        created: row.get(5)?,
        replaced: row.get(6)?,
    })
}
