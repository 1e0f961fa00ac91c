//! Branches of a project, each with its head and the newest version of it.

use kiln_model::{BranchName, BranchUuid, GitHash, HeadUuid, Millis, Slug};

use super::dimension::{self, Dimension};
use super::head;
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub id: i64,
    pub uuid: BranchUuid,
    pub name: BranchName,
    pub slug: Slug,
    pub head: HeadUuid,
    pub head_id: i64,
    pub version: u32,
    pub git_hash: Option<GitHash>,
    pub created: Millis,
    pub modified: Millis,
    pub archived: Option<Millis>,
}

impl Dimension for Branch {
    const KIND: &'static str = "branch";
    const TABLE: &'static str = "branch";
    const COLUMNS: &'static str =
        "id, uuid, name, slug, head_uuid, version, git_hash, created, modified, head_id, archived";
    const IN_USE: &'static str = "SELECT 1 FROM report WHERE branch_id = ?1 LIMIT 1";

    fn read(row: &Row) -> Result<Self, Error> {
        read(row)
    }
}

macro_rules! select {
    ($filter:literal) => {
        concat!(
            "SELECT id, uuid, name, slug, head_uuid, version, git_hash, created, modified, head_id, archived FROM branch WHERE ",
            $filter
        )
    };
}

/// The ids a branch will have if it is new.
#[derive(Clone, Copy, Debug)]
pub struct NewBranch {
    pub uuid: BranchUuid,
    pub head: HeadUuid,
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Branch>, Error> {
    query
        .query_one(select!("id = ?1"), params![id])?
        .as_ref()
        .map(read)
        .transpose()
}

/// The branch of that name with the version that a report of `hash` belongs to: the same commit is the same version of a
/// head, and without a commit every report is a version of its own.
pub fn ensure(
    tx: &mut dyn Tx,
    project: i64,
    name: &BranchName,
    hash: Option<&GitHash>,
    new: NewBranch,
) -> Result<Branch, Error> {
    let mut found = lock(tx, project, name)?;
    if found.is_none() {
        insert(tx, project, name, None, new)?;
        found = lock(tx, project, name)?;
    }
    let mut branch = found.ok_or_else(|| Error::Corrupt {
        what: format!("branch {name} vanished"),
    })?;
    let version = head::ensure_version(tx, branch.head_id, hash)?;
    let wall = tx.wall();
    tx.execute(
        "UPDATE branch SET archived = NULL, modified = ?4, git_hash = CASE WHEN ?2 >= version THEN ?3 ELSE git_hash END, \
         version = CASE WHEN ?2 >= version THEN ?2 ELSE version END WHERE id = ?1",
        params![branch.id, version, hash.map(GitHash::as_str), wall],
    )?;
    branch.version = version;
    branch.git_hash = hash.cloned();
    branch.modified = wall;
    branch.archived = None;
    Ok(branch)
}

/// The branch of that name, which nobody else changes before this transaction ends.
fn lock(tx: &mut dyn Tx, project: i64, name: &BranchName) -> Result<Option<Branch>, Error> {
    let sql = format!(
        "{}{}",
        select!("project_id = ?1 AND name = ?2"),
        tx.for_update()
    );
    tx.query_one(&sql, params![project, name.as_str()])?
        .as_ref()
        .map(read)
        .transpose()
}

/// A new one with a head of its own and no versions; whether the name was free.
pub fn insert(
    tx: &mut dyn Tx,
    project: i64,
    name: &BranchName,
    slug: Option<&Slug>,
    new: NewBranch,
) -> Result<bool, Error> {
    let wall = tx.wall();
    let taken = "SELECT 1 FROM branch WHERE project_id = ?1 AND name = ?2";
    if !tx.query(taken, params![project, name.as_str()])?.is_empty() {
        return Ok(false);
    }
    let slug = match slug {
        Some(slug) => slug.as_str().to_owned(),
        None => dimension::free_slug::<Branch>(tx, project, name.as_str(), &new.uuid.to_string())?,
    };
    let row = tx.query_one(
        "INSERT INTO branch (uuid, project_id, name, slug, head_uuid, version, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, -1, ?6, ?6) ON CONFLICT (project_id, name) DO NOTHING RETURNING id",
        params![
            new.uuid.to_string(),
            project,
            name.as_str(),
            slug,
            new.head.to_string(),
            wall
        ],
    )?;
    let Some(row) = row else { return Ok(false) };
    let id = row.get(0)?;
    let head = head::insert(tx, id, new.head, None)?;
    set_head(tx, id, new.head, head)?;
    Ok(true)
}

/// Points the branch at a head; its newest version is that of the head.
pub fn set_head(tx: &mut dyn Tx, id: i64, uuid: HeadUuid, head: i64) -> Result<(), Error> {
    let newest = head::newest_version(tx, head)?;
    let (number, hash) = newest.map_or((-1, None), |version| {
        (i64::from(version.number), version.git_hash)
    });
    let wall = tx.wall();
    tx.execute(
        "UPDATE branch SET head_uuid = ?2, head_id = ?3, version = ?4, git_hash = ?5, modified = ?6 WHERE id = ?1",
        params![
            id,
            uuid.to_string(),
            head,
            number,
            hash.as_ref().map(GitHash::as_str),
            wall
        ],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Branch, Error> {
    Ok(Branch {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        head: super::parse(row, 4)?,
        // A branch without any report has no version yet.
        version: row.get::<i64>(5)?.try_into().unwrap_or(0),
        git_hash: super::parse_optional(row, 6)?,
        created: row.get(7)?,
        modified: row.get(8)?,
        head_id: row.get(9)?,
        archived: row.get(10)?,
    })
}
