//! What a running job has written lately, piece by piece.

use kiln_model::v0::{LiveText, TextKind};

use crate::{Error, Query, Row, Tx, params};

/// How many pieces of a job are kept: the newest.
pub const KEPT: i64 = 64;

/// Adds a piece, and lets go of the oldest if there are too many.
pub fn append(tx: &mut dyn Tx, job: i64, epoch: i64, text: &LiveText) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO job_live (job_id, epoch, number, iteration, stream, start, body) \
         SELECT ?1, ?2, COALESCE(MAX(number), 0) + 1, ?3, ?4, ?5, ?6 FROM job_live WHERE job_id = ?1 AND epoch = ?2",
        params![
            job,
            epoch,
            column(text.iteration),
            code(text.stream),
            column(text.start),
            text.text.as_bytes()
        ],
    )?;
    tx.execute(
        "DELETE FROM job_live WHERE job_id = ?1 AND epoch = ?2 AND number <= \
         (SELECT MAX(number) FROM job_live WHERE job_id = ?1 AND epoch = ?2) - ?3",
        params![job, epoch, KEPT],
    )?;
    Ok(())
}

/// The pieces after number `after`, oldest first, each with its number.
pub fn after<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    epoch: i64,
    after: i64,
) -> Result<Vec<(i64, LiveText)>, Error> {
    query
        .query(
            "SELECT number, iteration, stream, start, body FROM job_live \
             WHERE job_id = ?1 AND epoch = ?2 AND number > ?3 ORDER BY number",
            params![job, epoch, after],
        )?
        .iter()
        .map(read)
        .collect()
}

/// The output of the job is here, and has all of it.
pub fn forget(tx: &mut dyn Tx, job: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM job_live WHERE job_id = ?1", params![job])?;
    Ok(())
}

fn read(row: &Row) -> Result<(i64, LiveText), Error> {
    let body: Vec<u8> = row.get(4)?;
    let text = LiveText {
        iteration: row.get(1)?,
        stream: stream(row.get(2)?)?,
        start: row.get(3)?,
        text: String::from_utf8_lossy(&body).into_owned(),
    };
    Ok((row.get(0)?, text))
}

/// Stored numbers never change.
const fn code(stream: TextKind) -> i64 {
    match stream {
        TextKind::Stdout => 1,
        TextKind::Stderr => 2,
        TextKind::File => 3,
    }
}

fn stream(stored: i64) -> Result<TextKind, Error> {
    [TextKind::Stdout, TextKind::Stderr, TextKind::File]
        .into_iter()
        .find(|stream| code(*stream) == stored)
        .ok_or_else(|| Error::Corrupt {
            what: format!("a piece of output is of stream {stored}"),
        })
}

fn column(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
