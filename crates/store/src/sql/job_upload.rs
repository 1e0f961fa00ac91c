//! Output that is uploaded beside the channel, once per job, lease epoch and digest.

use kiln_model::{Digest, Millis};

use super::{inserted_id, parse};
use crate::{Error, Query, Row, Tx, params};

/// What an upload is about to become. Stored numbers never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Receiving,
    /// One object, whose digest was found right.
    Whole,
    /// The output of a job names it.
    Named,
    /// Nobody needs it: its objects go, and then its row.
    Leaving,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    pub id: i64,
    pub job: i64,
    pub epoch: i64,
    pub digest: Digest,
    pub size: u64,
    pub received: u64,
    /// The path segments that all its pieces have in common.
    pub pieces_prefix: String,
    /// Where the whole lies, or will.
    pub object_key: String,
    pub state: State,
}

/// An upload that begins.
#[derive(Clone, Copy, Debug)]
pub struct NewUpload<'a> {
    pub job: i64,
    pub epoch: i64,
    pub digest: &'a Digest,
    pub size: u64,
    pub pieces_prefix: &'a str,
    pub object_key: &'a str,
}

/// One object's part of the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub start: u64,
    pub size: u64,
    pub object_key: String,
    /// Of these bytes alone.
    pub digest: Digest,
}

const COLUMNS: &str = "id, job_id, epoch, digest, size, received, pieces_prefix, object_key, state";

impl State {
    const fn code(self) -> i64 {
        match self {
            Self::Receiving => 0,
            Self::Whole => 1,
            Self::Named => 2,
            Self::Leaving => 3,
        }
    }

    fn read(code: i64) -> Result<Self, Error> {
        [Self::Receiving, Self::Whole, Self::Named, Self::Leaving]
            .into_iter()
            .find(|state| state.code() == code)
            .ok_or_else(|| Error::Corrupt {
                what: format!("an upload has the state {code}"),
            })
    }
}

pub fn insert(tx: &mut dyn Tx, new: &NewUpload<'_>) -> Result<i64, Error> {
    let (now, wall) = (tx.now(), tx.wall());
    let row = tx.query_one(
        "INSERT INTO job_upload (job_id, epoch, digest, size, received, pieces_prefix, object_key, state, touched_tick, created) \
         VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9) RETURNING id",
        params![
            new.job,
            new.epoch,
            new.digest.as_str(),
            column(new.size),
            new.pieces_prefix,
            new.object_key,
            State::Receiving.code(),
            now,
            wall
        ],
    )?;
    inserted_id(row)
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    epoch: i64,
    digest: &Digest,
) -> Result<Option<Upload>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM job_upload WHERE job_id = ?1 AND epoch = ?2 AND digest = ?3"
    );
    query
        .query_one(&sql, params![job, epoch, digest.as_str()])?
        .as_ref()
        .map(read)
        .transpose()
}

/// What the output of a lease names.
pub fn named<Q: Query + ?Sized>(query: &mut Q, job: i64, epoch: i64) -> Result<Vec<Upload>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM job_upload WHERE job_id = ?1 AND epoch = ?2 AND state = ?3 ORDER BY id"
    );
    query
        .query(&sql, params![job, epoch, State::Named.code()])?
        .iter()
        .map(read)
        .collect()
}

/// What the uploads of a lease take together, those that are leaving left out.
pub fn size_of_lease<Q: Query + ?Sized>(query: &mut Q, job: i64, epoch: i64) -> Result<u64, Error> {
    let rows = query.query(
        "SELECT size FROM job_upload WHERE job_id = ?1 AND epoch = ?2 AND state <> ?3",
        params![job, epoch, State::Leaving.code()],
    )?;
    rows.iter().map(|row| row.get::<u64>(0)).sum()
}

pub fn pieces<Q: Query + ?Sized>(query: &mut Q, upload: i64) -> Result<Vec<Piece>, Error> {
    let rows = query.query(
        "SELECT start, size, object_key, digest FROM job_upload_piece WHERE upload_id = ?1 ORDER BY start",
        params![upload],
    )?;
    let piece = |row: &Row| {
        Ok(Piece {
            start: row.get(0)?,
            size: row.get(1)?,
            object_key: row.get(2)?,
            digest: parse(row, 3)?,
        })
    };
    rows.iter().map(piece).collect()
}

/// Adds a piece to an upload that still ends where the piece starts. False when it does not.
pub fn append(tx: &mut dyn Tx, upload: i64, piece: &Piece) -> Result<bool, Error> {
    let now = tx.now();
    let changed = tx.execute(
        "UPDATE job_upload SET received = ?3, touched_tick = ?4 WHERE id = ?1 AND received = ?2 AND state = ?5",
        params![
            upload,
            column(piece.start),
            column(piece.start + piece.size),
            now,
            State::Receiving.code()
        ],
    )?;
    if changed == 0 {
        return Ok(false);
    }
    tx.execute(
        "INSERT INTO job_upload_piece (upload_id, start, size, object_key, digest) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            upload,
            column(piece.start),
            column(piece.size),
            piece.object_key.as_str(),
            piece.digest.as_str()
        ],
    )?;
    Ok(true)
}

/// Moves an upload from one state to another. False when it is in neither the one nor there.
pub fn advance(tx: &mut dyn Tx, upload: i64, from: State, to: State) -> Result<bool, Error> {
    let now = tx.now();
    let changed = tx.execute(
        "UPDATE job_upload SET state = ?3, touched_tick = ?4 WHERE id = ?1 AND state = ?2",
        params![upload, from.code(), to.code(), now],
    )?;
    Ok(changed > 0)
}

/// The objects of the pieces are gone.
pub fn forget_pieces(tx: &mut dyn Tx, upload: i64) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM job_upload_piece WHERE upload_id = ?1",
        params![upload],
    )?;
    Ok(())
}

/// Lets go of uploads that no output names and nobody added to since `before`, and of those whose job is gone.
pub fn let_go(tx: &mut dyn Tx, before: Millis) -> Result<(), Error> {
    tx.execute(
        "UPDATE job_upload SET state = ?2 WHERE state <> ?3 AND touched_tick < ?1",
        params![before, State::Leaving.code(), State::Named.code()],
    )?;
    tx.execute(
        "UPDATE job_upload SET state = ?1 WHERE state = ?2 \
         AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = job_upload.job_id)",
        params![State::Leaving.code(), State::Named.code()],
    )?;
    Ok(())
}

/// Uploads whose objects are to go.
pub fn leaving<Q: Query + ?Sized>(query: &mut Q, limit: u32) -> Result<Vec<Upload>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM job_upload WHERE state = ?1 ORDER BY id LIMIT ?2");
    query
        .query(&sql, params![State::Leaving.code(), limit])?
        .iter()
        .map(read)
        .collect()
}

/// Uploads that are whole and whose pieces are still there.
pub fn with_spare_pieces<Q: Query + ?Sized>(
    query: &mut Q,
    limit: u32,
) -> Result<Vec<Upload>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM job_upload WHERE state IN (?1, ?2) \
         AND EXISTS (SELECT 1 FROM job_upload_piece piece WHERE piece.upload_id = job_upload.id) ORDER BY id LIMIT ?3"
    );
    query
        .query(
            &sql,
            params![State::Whole.code(), State::Named.code(), limit],
        )?
        .iter()
        .map(read)
        .collect()
}

/// The objects of an upload are gone, and so is its row.
pub fn remove(tx: &mut dyn Tx, upload: i64) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM job_upload WHERE id = ?1 AND state = ?2",
        params![upload, State::Leaving.code()],
    )?;
    Ok(())
}

fn read(row: &Row) -> Result<Upload, Error> {
    Ok(Upload {
        id: row.get(0)?,
        job: row.get(1)?,
        epoch: row.get(2)?,
        digest: parse(row, 3)?,
        size: row.get(4)?,
        received: row.get(5)?,
        pieces_prefix: row.get(6)?,
        object_key: row.get(7)?,
        state: State::read(row.get(8)?)?,
    })
}

/// A size as a column; none of ours comes near the limit.
fn column(size: u64) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
