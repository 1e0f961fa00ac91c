//! Branches of a project, each with its head and the newest version of it.

use kiln_model::{BranchName, BranchUuid, GitHash, HeadUuid, Millis, Slug};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    pub id: i64,
    pub uuid: BranchUuid,
    pub name: BranchName,
    pub slug: Slug,
    pub head: HeadUuid,
    pub version: u32,
    pub git_hash: Option<GitHash>,
    pub created: Millis,
    pub modified: Millis,
}

macro_rules! select {
    ($filter:literal) => {
        concat!(
            "SELECT id, uuid, name, slug, head_uuid, version, git_hash, created, modified FROM branch WHERE ",
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

/// By UUID, name or slug; a name goes before a slug.
pub fn find_by_ref<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    reference: &str,
) -> Result<Option<Branch>, Error> {
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

/// The branch of that name with the version that a report of `hash` belongs to: the same commit is the same version, and
/// without a commit every report is a version of its own.
pub fn ensure(
    tx: &mut dyn Tx,
    project: i64,
    name: &BranchName,
    hash: Option<&GitHash>,
    new: NewBranch,
) -> Result<Branch, Error> {
    let wall = tx.wall();
    let slug = Slug::suggest(name.as_str())
        .map_or_else(|| new.uuid.to_string(), |slug| slug.as_str().to_owned());
    tx.execute(
        "INSERT INTO branch (uuid, project_id, name, slug, head_uuid, version, created, modified) \
         VALUES (?1, ?2, ?3, ?4, ?5, -1, ?6, ?6) ON CONFLICT (project_id, name) DO NOTHING",
        params![
            new.uuid.to_string(),
            project,
            name.as_str(),
            slug,
            new.head.to_string(),
            wall
        ],
    )?;
    tx.execute(
        "UPDATE branch SET version = version + 1, git_hash = ?3, modified = ?4 \
         WHERE project_id = ?1 AND name = ?2 AND (version = -1 OR CAST(?3 AS TEXT) IS NULL OR git_hash IS NULL OR git_hash <> ?3)",
        params![project, name.as_str(), hash.map(GitHash::as_str), wall],
    )?;
    let row = tx.query_one(
        select!("project_id = ?1 AND name = ?2"),
        params![project, name.as_str()],
    )?;
    read(&row.ok_or_else(|| Error::Corrupt {
        what: format!("branch {name} vanished"),
    })?)
}

fn read(row: &Row) -> Result<Branch, Error> {
    Ok(Branch {
        id: row.get(0)?,
        uuid: super::parse(row, 1)?,
        name: super::parse(row, 2)?,
        slug: super::parse(row, 3)?,
        head: super::parse(row, 4)?,
        version: row.get(5)?,
        git_hash: super::parse_optional(row, 6)?,
        created: row.get(7)?,
        modified: row.get(8)?,
    })
}
