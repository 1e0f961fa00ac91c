//! Blobs, the pieces they consist of, and the projects that hold them.

use kiln_model::{Digest, Millis};

use super::piece::{self, Piece, column};
use super::usage;
use crate::sql::parse;
use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob {
    pub id: i64,
    pub digest: Digest,
    pub size: u64,
}

/// A blob whoever holds it. What it says must never reach a caller without a holding.
pub fn find<Q: Query + ?Sized>(query: &mut Q, digest: &Digest) -> Result<Option<Blob>, Error> {
    query
        .query_one(
            "SELECT id, digest, size FROM registry_blob WHERE digest = ?1",
            params![digest.as_str()],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

/// A blob that the project holds.
pub fn find_held<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    digest: &Digest,
) -> Result<Option<Blob>, Error> {
    query
        .query_one(
            "SELECT blob.id, blob.digest, blob.size FROM registry_blob blob \
             JOIN registry_holding holding ON holding.blob_id = blob.id \
             WHERE blob.digest = ?2 AND holding.project_id = ?1",
            params![project, digest.as_str()],
        )?
        .as_ref()
        .map(read)
        .transpose()
}

/// Projects that are there and hold the blob, those first that have held it longest.
pub fn holders<Q: Query + ?Sized>(
    query: &mut Q,
    digest: &Digest,
    limit: u32,
) -> Result<Vec<i64>, Error> {
    query
        .query(
            "SELECT holding.project_id FROM registry_blob blob \
             JOIN registry_holding holding ON holding.blob_id = blob.id \
             JOIN project ON project.id = holding.project_id \
             WHERE blob.digest = ?1 AND project.deleted IS NULL ORDER BY holding.created, holding.project_id LIMIT ?2",
            params![digest.as_str(), limit],
        )?
        .iter()
        .map(|row| row.get(0))
        .collect()
}

/// When the project's holding was last counted on.
pub fn touched<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    blob: i64,
) -> Result<Option<Millis>, Error> {
    query
        .query_one(
            "SELECT touched_tick FROM registry_holding WHERE project_id = ?1 AND blob_id = ?2",
            params![project, blob],
        )?
        .map(|row| row.get(0))
        .transpose()
}

/// The blobs after `after`, in the order of their ids.
pub fn list<Q: Query + ?Sized>(query: &mut Q, after: i64, limit: u32) -> Result<Vec<Blob>, Error> {
    query
        .query(
            "SELECT id, digest, size FROM registry_blob WHERE id > ?1 ORDER BY id LIMIT ?2",
            params![after, limit],
        )?
        .iter()
        .map(read)
        .collect()
}

pub fn pieces<Q: Query + ?Sized>(query: &mut Q, blob: i64) -> Result<Vec<Piece>, Error> {
    query
        .query(
            "SELECT start, size, object_key, digest FROM registry_blob_piece WHERE blob_id = ?1 ORDER BY start",
            params![blob],
        )?
        .iter()
        .map(piece::read)
        .collect()
}

pub fn insert(
    tx: &mut dyn Tx,
    digest: &Digest,
    size: u64,
    pieces: &[Piece],
) -> Result<Blob, Error> {
    let wall = tx.wall();
    let row = tx.query_one(
        "INSERT INTO registry_blob (digest, size, created) VALUES (?1, ?2, ?3) RETURNING id",
        params![digest.as_str(), column(size), wall],
    )?;
    let id = row
        .ok_or_else(|| Error::Corrupt {
            what: "an insert answered no id".to_owned(),
        })?
        .get(0)?;
    for piece in pieces {
        piece::insert(
            tx,
            "INSERT INTO registry_blob_piece (blob_id, start, size, object_key, digest) VALUES (?1, ?2, ?3, ?4, ?5)",
            id,
            piece,
        )?;
    }
    Ok(Blob {
        id,
        digest: digest.clone(),
        size,
    })
}

/// Gives the project a right to the blob, or renews the one it has.
pub fn hold(tx: &mut dyn Tx, project: i64, blob: &Blob) -> Result<(), Error> {
    let (now, wall) = (tx.now(), tx.wall());
    let new = tx.execute(
        "INSERT INTO registry_holding (project_id, blob_id, created, touched_tick) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (project_id, blob_id) DO NOTHING",
        params![project, blob.id, wall, now],
    )?;
    if new == 0 {
        return touch(tx, project, blob.id);
    }
    usage::add(tx, project, column(blob.size))
}

/// Notes that somebody counts on the project's holding.
pub fn touch(tx: &mut dyn Tx, project: i64, blob: i64) -> Result<(), Error> {
    let now = tx.now();
    tx.execute(
        "UPDATE registry_holding SET touched_tick = ?3 WHERE project_id = ?1 AND blob_id = ?2",
        params![project, blob, now],
    )?;
    Ok(())
}

/// Takes the project's right away. If it was the last, the blob is forgotten, and its pieces are answered: their objects
/// are the caller's to delete.
pub fn release(tx: &mut dyn Tx, project: i64, blob: &Blob) -> Result<Vec<Piece>, Error> {
    let removed = tx.execute(
        "DELETE FROM registry_holding WHERE project_id = ?1 AND blob_id = ?2",
        params![project, blob.id],
    )?;
    if removed > 0 {
        usage::add(tx, project, -column(blob.size))?;
    }
    if is_held(tx, blob.id)? {
        return Ok(Vec::new());
    }
    let pieces = pieces(tx, blob.id)?;
    tx.execute("DELETE FROM registry_blob WHERE id = ?1", params![blob.id])?;
    Ok(pieces)
}

fn is_held<Q: Query + ?Sized>(query: &mut Q, blob: i64) -> Result<bool, Error> {
    let rows = query.query(
        "SELECT project_id FROM registry_holding WHERE blob_id = ?1 LIMIT 1",
        params![blob],
    )?;
    Ok(!rows.is_empty())
}

/// A manifest of the project that names the blob.
pub fn named_by<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    blob: i64,
) -> Result<Option<Digest>, Error> {
    query
        .query_one(
            "SELECT manifest.digest FROM registry_manifest_blob named \
             JOIN registry_manifest manifest ON manifest.id = named.manifest_id \
             WHERE named.project_id = ?1 AND named.blob_id = ?2 LIMIT 1",
            params![project, blob],
        )?
        .map(|row| parse(&row, 0))
        .transpose()
}

fn read(row: &Row) -> Result<Blob, Error> {
    Ok(Blob {
        id: row.get(0)?,
        digest: parse(row, 1)?,
        size: row.get(2)?,
    })
}
