//! The objects that hold the bytes of an upload, and later of a blob.

use kiln_model::Digest;

use crate::sql::parse;
use crate::{Error, Row, Tx, params};

/// One object's part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where its first byte stands in the whole.
    pub start: u64,
    pub size: u64,
    pub object_key: String,
    /// Of these bytes alone.
    pub digest: Digest,
}

pub(super) fn read(row: &Row) -> Result<Piece, Error> {
    Ok(Piece {
        start: row.get(0)?,
        size: row.get(1)?,
        object_key: row.get(2)?,
        digest: parse(row, 3)?,
    })
}

/// Runs an INSERT of the owner's id and the columns that [`read`] reads.
pub(super) fn insert(tx: &mut dyn Tx, sql: &str, owner: i64, piece: &Piece) -> Result<(), Error> {
    let (start, size) = (column(piece.start), column(piece.size));
    tx.execute(
        sql,
        params![
            owner,
            start,
            size,
            piece.object_key.as_str(),
            piece.digest.as_str()
        ],
    )?;
    Ok(())
}

/// A size as a column; none of ours comes near the limit.
pub(super) fn column(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
