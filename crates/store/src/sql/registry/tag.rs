//! Tags: names for manifests, in one repository.

use kiln_model::Digest;

use crate::sql::parse;
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

/// False when there was no such tag.
pub fn remove(tx: &mut dyn Tx, repository: i64, name: &str) -> Result<bool, Error> {
    let removed = tx.execute(
        "DELETE FROM registry_tag WHERE repository_id = ?1 AND name = ?2",
        params![repository, name],
    )?;
    Ok(removed > 0)
}
