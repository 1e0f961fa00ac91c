//! Events: the audit trail, the timeline and the live feed of a job.

use kiln_model::{Millis, Status};

use crate::{Error, Query, Row, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEvent {
    pub number: i64,
    pub what: String,
    pub from: Option<Status>,
    pub to: Option<Status>,
    pub epoch: i64,
    pub actor: String,
    pub detail: Option<String>,
    pub at: Millis,
}

pub fn append(tx: &mut dyn Tx, job: i64, event: &JobEvent) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO job_event (job_id, number, what, from_status, to_status, epoch, actor, detail, at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            job,
            event.number,
            event.what.as_str(),
            event.from.map(Status::code),
            event.to.map(Status::code),
            event.epoch,
            event.actor.as_str(),
            event.detail.as_deref(),
            event.at
        ],
    )?;
    Ok(())
}

/// Up to `limit` events after number `after`, oldest first.
pub fn after<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    after: i64,
    limit: i64,
) -> Result<Vec<JobEvent>, Error> {
    query
        .query(
            "SELECT number, what, from_status, to_status, epoch, actor, detail, at FROM job_event \
             WHERE job_id = ?1 AND number > ?2 ORDER BY number LIMIT ?3",
            params![job, after, limit],
        )?
        .iter()
        .map(read)
        .collect()
}

fn read(row: &Row) -> Result<JobEvent, Error> {
    let status = |index| -> Result<Option<Status>, Error> {
        row.get::<Option<i64>>(index)?
            .map(super::job::status)
            .transpose()
    };
    Ok(JobEvent {
        number: row.get(0)?,
        what: row.get(1)?,
        from: status(2)?,
        to: status(3)?,
        epoch: row.get(4)?,
        actor: row.get(5)?,
        detail: row.get(6)?,
        at: row.get(7)?,
    })
}
