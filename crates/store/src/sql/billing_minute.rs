//! Minutes that jobs have run: the outbox of what is billed.

use kiln_model::Millis;

use crate::{Error, Query, Row, Tx, params};

/// A minute that a job has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewMinute<'a> {
    pub job_id: i64,
    /// The public id, which stays when the job's row goes.
    pub job: &'a str,
    /// The first is 1.
    pub minute: i64,
    pub organization: i64,
    pub begun: Millis,
    /// Whether the one who bills is to be told.
    pub metered: bool,
}

/// A minute with all that the one who bills has to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minute {
    pub id: i64,
    pub job_id: i64,
    pub job: String,
    pub minute: i64,
    /// The organization's UUID.
    pub organization: String,
    /// What the one who bills calls the organization.
    pub customer: Option<String>,
    pub begun: Millis,
}

macro_rules! minutes {
    ($condition:literal) => {
        concat!(
            "SELECT minute.id, minute.job_id, minute.job, minute.minute, organization.uuid, \
             organization.billing_customer, minute.begun FROM billing_minute AS minute \
             JOIN organization ON organization.id = minute.organization_id WHERE ",
            $condition
        )
    };
}

/// Writes a minute down. One that is there already stays as it is.
pub fn insert(tx: &mut dyn Tx, new: &NewMinute<'_>) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO billing_minute (job_id, job, minute, organization_id, begun, metered) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (job_id, minute) DO NOTHING",
        params![
            new.job_id,
            new.job,
            new.minute,
            new.organization,
            new.begun,
            new.metered
        ],
    )?;
    Ok(())
}

/// The oldest minutes that nobody was told of.
pub fn owed<Q: Query + ?Sized>(query: &mut Q, limit: i64) -> Result<Vec<Minute>, Error> {
    let sql = minutes!(
        "minute.metered = 1 AND minute.settled IS NULL AND minute.refused IS NULL \
         ORDER BY minute.id LIMIT ?1"
    );
    query.query(sql, params![limit])?.iter().map(read).collect()
}

/// A minute that was refused and is to be tried again.
pub fn find_refused<Q: Query + ?Sized>(
    query: &mut Q,
    job_id: i64,
    minute: i64,
) -> Result<Option<Minute>, Error> {
    let sql = minutes!("minute.job_id = ?1 AND minute.minute = ?2 AND minute.refused IS NOT NULL");
    query
        .query_one(sql, params![job_id, minute])?
        .as_ref()
        .map(read)
        .transpose()
}

pub fn settle(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    let wall = tx.wall();
    tx.execute(
        "UPDATE billing_minute SET settled = ?2, refused = NULL WHERE id = ?1 AND settled IS NULL",
        params![id, wall],
    )?;
    Ok(())
}

pub fn refuse(tx: &mut dyn Tx, id: i64, reason: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE billing_minute SET refused = ?2 WHERE id = ?1 AND settled IS NULL",
        params![id, reason],
    )?;
    Ok(())
}

/// What was refused is tried again, with everything else that is owed.
pub fn owe_again(tx: &mut dyn Tx, id: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE billing_minute SET refused = NULL WHERE id = ?1 AND settled IS NULL",
        params![id],
    )?;
    Ok(())
}

/// How many minutes an organization's jobs began from `start` on and before `end`.
pub fn count<Q: Query + ?Sized>(
    query: &mut Q,
    organization: i64,
    start: Millis,
    end: Millis,
) -> Result<u64, Error> {
    let row = query.query_one(
        "SELECT COUNT(*) FROM billing_minute WHERE organization_id = ?1 AND begun >= ?2 AND begun < ?3",
        params![organization, start, end],
    )?;
    row.ok_or_else(|| Error::Corrupt {
        what: "a count answered nothing".to_owned(),
    })?
    .get(0)
}

fn read(row: &Row) -> Result<Minute, Error> {
    Ok(Minute {
        id: row.get(0)?,
        job_id: row.get(1)?,
        job: row.get(2)?,
        minute: row.get(3)?,
        organization: row.get(4)?,
        customer: row.get(5)?,
        begun: row.get(6)?,
    })
}
