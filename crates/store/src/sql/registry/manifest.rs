//! Manifests, and what they name.

use kiln_model::Digest;

use crate::sql::parse;
use crate::{Error, Query, Row, Tx, Value, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    pub digest: Digest,
    pub media_type: String,
    pub artifact_type: Option<String>,
    pub subject: Option<Digest>,
    pub body: Vec<u8>,
}

const COLUMNS: &str =
    "manifest.digest, manifest.media_type, manifest.artifact_type, manifest.subject, manifest.body";

pub fn find_id<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    digest: &Digest,
) -> Result<Option<i64>, Error> {
    query
        .query_one(
            "SELECT id FROM registry_manifest WHERE repository_id = ?1 AND digest = ?2",
            params![repository, digest.as_str()],
        )?
        .map(|row| row.get(0))
        .transpose()
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    digest: &Digest,
) -> Result<Option<Manifest>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM registry_manifest manifest \
         WHERE manifest.repository_id = ?1 AND manifest.digest = ?2"
    );
    one(query, &sql, params![repository, digest.as_str()])
}

/// From whichever repository of the project has it: the same digest is the same bytes.
pub fn find_in_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    digest: &Digest,
) -> Result<Option<Manifest>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM registry_manifest manifest \
         JOIN registry_repository repository ON repository.id = manifest.repository_id \
         WHERE repository.project_id = ?1 AND manifest.digest = ?2 LIMIT 1"
    );
    one(query, &sql, params![project, digest.as_str()])
}

/// Adds a manifest; none when the repository has it already.
pub fn insert(tx: &mut dyn Tx, repository: i64, manifest: &Manifest) -> Result<Option<i64>, Error> {
    let (now, wall) = (tx.now(), tx.wall());
    let row = tx.query_one(
        "INSERT INTO registry_manifest \
         (repository_id, digest, media_type, artifact_type, subject, body, created, pushed_tick) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (repository_id, digest) DO NOTHING RETURNING id",
        params![
            repository,
            manifest.digest.as_str(),
            manifest.media_type.as_str(),
            manifest.artifact_type.as_deref(),
            manifest.subject.as_ref().map(Digest::as_str),
            manifest.body.as_slice(),
            wall,
            now
        ],
    )?;
    row.map(|row| row.get(0)).transpose()
}

/// Notes that somebody pushed it once more.
pub fn touch(tx: &mut dyn Tx, manifest: i64) -> Result<(), Error> {
    let now = tx.now();
    tx.execute(
        "UPDATE registry_manifest SET pushed_tick = ?2 WHERE id = ?1",
        params![manifest, now],
    )?;
    Ok(())
}

/// The ids and digests of the manifests after `after`, in the order of their ids.
pub fn list<Q: Query + ?Sized>(
    query: &mut Q,
    after: i64,
    limit: u32,
) -> Result<Vec<(i64, Digest)>, Error> {
    query
        .query(
            "SELECT id, digest FROM registry_manifest WHERE id > ?1 ORDER BY id LIMIT ?2",
            params![after, limit],
        )?
        .iter()
        .map(|row| Ok((row.get(0)?, parse(row, 1)?)))
        .collect()
}

/// The bytes of a manifest.
pub fn body<Q: Query + ?Sized>(query: &mut Q, manifest: i64) -> Result<Option<Vec<u8>>, Error> {
    query
        .query_one(
            "SELECT body FROM registry_manifest WHERE id = ?1",
            params![manifest],
        )?
        .map(|row| row.get(0))
        .transpose()
}

/// Notes that the manifest names a blob that its project holds.
pub fn add_blob(tx: &mut dyn Tx, manifest: i64, project: i64, blob: i64) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO registry_manifest_blob (manifest_id, project_id, blob_id) VALUES (?1, ?2, ?3) \
         ON CONFLICT (manifest_id, blob_id) DO NOTHING",
        params![manifest, project, blob],
    )?;
    Ok(())
}

/// Notes that the index names a manifest of its repository.
pub fn add_child(tx: &mut dyn Tx, manifest: i64, child: i64) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO registry_manifest_child (manifest_id, child_id) VALUES (?1, ?2) \
         ON CONFLICT (manifest_id, child_id) DO NOTHING",
        params![manifest, child],
    )?;
    Ok(())
}

/// An index that names the manifest.
pub fn named_by<Q: Query + ?Sized>(query: &mut Q, manifest: i64) -> Result<Option<Digest>, Error> {
    query
        .query_one(
            "SELECT parent.digest FROM registry_manifest_child child \
             JOIN registry_manifest parent ON parent.id = child.manifest_id \
             WHERE child.child_id = ?1 LIMIT 1",
            params![manifest],
        )?
        .map(|row| parse(&row, 0))
        .transpose()
}

/// Removes a manifest that no index names, and its tags.
pub fn remove(tx: &mut dyn Tx, manifest: i64) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM registry_manifest WHERE id = ?1",
        params![manifest],
    )?;
    Ok(())
}

/// The digests of the manifests whose subject is `subject`, after `last`.
pub fn referrers<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    subject: &Digest,
    artifact_type: Option<&str>,
    last: &str,
    limit: u32,
) -> Result<Vec<Digest>, Error> {
    query
        .query(
            "SELECT digest FROM registry_manifest \
             WHERE repository_id = ?1 AND subject = ?2 AND digest > ?4 AND (?3 = '' OR artifact_type = ?3) \
             ORDER BY digest LIMIT ?5",
            params![repository, subject.as_str(), artifact_type.unwrap_or_default(), last, limit],
        )?
        .iter()
        .map(|row| parse(row, 0))
        .collect()
}

fn one<Q: Query + ?Sized>(
    query: &mut Q,
    sql: &str,
    params: &[Value],
) -> Result<Option<Manifest>, Error> {
    query.query_one(sql, params)?.as_ref().map(read).transpose()
}

fn read(row: &Row) -> Result<Manifest, Error> {
    Ok(Manifest {
        digest: parse(row, 0)?,
        media_type: row.get(1)?,
        artifact_type: row.get(2)?,
        subject: match row.get::<Option<String>>(3)? {
            Some(_) => Some(parse(row, 3)?),
            None => None,
        },
        body: row.get(4)?,
    })
}
