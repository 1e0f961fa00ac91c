//! Tags: names for manifests, in one repository.

use kiln_model::{Digest, Millis};

use crate::sql::dimension::Page;
use crate::sql::{count, parse, parse_optional};
use crate::{Error, Query, Tx, params};

/// Points the tag at a manifest, whatever it pointed at before.
pub fn put(tx: &mut dyn Tx, repository: i64, name: &str, manifest: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "INSERT INTO registry_tag (repository_id, name, manifest_id, created, modified) VALUES (?1, ?2, ?3, ?4, ?4) \
         ON CONFLICT (repository_id, name) DO UPDATE SET manifest_id = ?3, modified = ?4",
        params![repository, name, manifest, wall],
    )?;
    Ok(())
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    name: &str,
) -> Result<Option<Digest>, Error> {
    query
        .query_one(
            "SELECT manifest.digest FROM registry_tag tag \
             JOIN registry_manifest manifest ON manifest.id = tag.manifest_id \
             WHERE tag.repository_id = ?1 AND tag.name = ?2",
            params![repository, name],
        )?
        .map(|row| parse(&row, 0))
        .transpose()
}

/// The names after `last`, in the order of their bytes.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    last: &str,
    limit: u32,
) -> Result<Vec<String>, Error> {
    query
        .query(
            "SELECT name FROM registry_tag WHERE repository_id = ?1 AND name > ?2 ORDER BY name LIMIT ?3",
            params![repository, last, limit],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// A tag with the path of its repository; a repository whose manifests have no tag is one row without any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    pub path: String,
    pub name: Option<String>,
    pub digest: Option<Digest>,
    pub modified: Option<Millis>,
}

/// A repository that only an unfinished upload began is not there yet.
const OF_PROJECT: &str = "FROM registry_repository repository \
    LEFT JOIN registry_tag tag ON tag.repository_id = repository.id \
    LEFT JOIN registry_manifest manifest ON manifest.id = tag.manifest_id \
    WHERE repository.project_id = ?1 AND (tag.name IS NOT NULL OR EXISTS \
    (SELECT 1 FROM registry_manifest held WHERE held.repository_id = repository.id))";

/// The tags of all repositories of a project, in the order of the repositories' paths and their own names.
pub fn of_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    page: Page,
) -> Result<Vec<Listed>, Error> {
    let order = if page.descending { "DESC" } else { "ASC" };
    let sql = format!(
        "SELECT repository.path, tag.name, manifest.digest, tag.modified {OF_PROJECT} \
         ORDER BY repository.path {order}, tag.name {order} LIMIT ?2 OFFSET ?3"
    );
    query
        .query(&sql, params![project, page.limit, page.offset])?
        .iter()
        .map(|row| {
            Ok(Listed {
                path: row.get(0)?,
                name: row.get(1)?,
                digest: parse_optional(row, 2)?,
                modified: row.get(3)?,
            })
        })
        .collect()
}

/// How long that list is.
pub fn count_of_project<Q: Query + ?Sized>(query: &mut Q, project: i64) -> Result<i64, Error> {
    let sql = format!("SELECT COUNT(*) {OF_PROJECT}");
    count(query, &sql, params![project])
}

/// False when there was no such tag.
pub fn remove(tx: &mut dyn Tx, repository: i64, name: &str) -> Result<bool, Error> {
    let removed = tx.execute(
        "DELETE FROM registry_tag WHERE repository_id = ?1 AND name = ?2",
        params![repository, name],
    )?;
    Ok(removed > 0)
}
