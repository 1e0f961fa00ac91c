//! The objects that hold the bytes of an upload, and later of a blob.

use crate::{Error, Row};

/// One object's part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where its first byte stands in the whole.
    pub start: u64,
    pub size: u64,
    pub object_key: String,
}

pub(super) fn read(row: &Row) -> Result<Piece, Error> {
    Ok(Piece { start: row.get(0)?, size: row.get(1)?, object_key: row.get(2)? })
}

/// A size as a column; none of ours comes near the limit.
pub(super) fn column(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
