//! Uploads under way.

use super::piece::{self, Piece, column};
use crate::{Error, Query, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub id: i64,
    pub size: u64,
    pub hash_state: Vec<u8>,
}

pub fn insert(
    tx: &mut dyn Tx,
    uuid: &str,
    repository: i64,
    hash_state: &[u8],
) -> Result<(), Error> {
    let (now, wall) = (tx.now(), tx.wall());
    tx.execute(
        "INSERT INTO registry_upload (uuid, repository_id, size, hash_state, touched_tick, created) \
         VALUES (?1, ?2, 0, ?3, ?4, ?5)",
        params![uuid, repository, hash_state, now, wall],
    )?;
    Ok(())
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    repository: i64,
    uuid: &str,
) -> Result<Option<Upload>, Error> {
    query
        .query_one(
            "SELECT id, size, hash_state FROM registry_upload WHERE repository_id = ?1 AND uuid = ?2",
            params![repository, uuid],
        )?
        .map(|row| Ok(Upload { id: row.get(0)?, size: row.get(1)?, hash_state: row.get(2)? }))
        .transpose()
}

pub fn pieces<Q: Query + ?Sized>(query: &mut Q, upload: i64) -> Result<Vec<Piece>, Error> {
    query
        .query(
            "SELECT start, size, object_key, digest FROM registry_upload_piece WHERE upload_id = ?1 ORDER BY start",
            params![upload],
        )?
        .iter()
        .map(piece::read)
        .collect()
}

/// Adds a piece to an upload that still ends where the piece starts. False when it does not, or is gone.
pub fn append(
    tx: &mut dyn Tx,
    upload: i64,
    piece: &Piece,
    hash_state: &[u8],
) -> Result<bool, Error> {
    let now = tx.now();
    let changed = tx.execute(
        "UPDATE registry_upload SET size = ?3, hash_state = ?4, touched_tick = ?5 WHERE id = ?1 AND size = ?2",
        params![upload, column(piece.start), column(piece.start + piece.size), hash_state, now],
    )?;
    if changed == 0 {
        return Ok(false);
    }
    piece::insert(
        tx,
        "INSERT INTO registry_upload_piece (upload_id, start, size, object_key, digest) VALUES (?1, ?2, ?3, ?4, ?5)",
        upload,
        piece,
    )?;
    Ok(true)
}

/// Ends an upload. False when somebody else did. The objects of its pieces are the caller's to keep or delete.
pub fn remove(tx: &mut dyn Tx, upload: i64) -> Result<bool, Error> {
    Ok(tx.execute("DELETE FROM registry_upload WHERE id = ?1", params![upload])? > 0)
}
