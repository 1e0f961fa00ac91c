//! What a job's process wrote, once per lease epoch.

use kiln_model::Digest;

use crate::{Error, Query, Tx, params};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobOutput {
    pub digest: Digest,
    pub size: i64,
    pub body: Option<Vec<u8>>,
    pub object_key: Option<String>,
}

/// Keeps the first output of an epoch; a repeated one changes nothing.
pub fn keep(
    tx: &mut dyn Tx,
    job: i64,
    epoch: i64,
    digest: &Digest,
    body: &[u8],
) -> Result<(), Error> {
    let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
    tx.execute(
        "INSERT INTO job_output (job_id, epoch, digest, size, body) VALUES (?1, ?2, ?3, ?4, ?5) \
         ON CONFLICT (job_id, epoch) DO NOTHING",
        params![job, epoch, digest.as_str(), size, body],
    )?;
    Ok(())
}

/// Replaces the output of an epoch whose earlier one turned out not to be the real one.
pub fn replace(
    tx: &mut dyn Tx,
    job: i64,
    epoch: i64,
    digest: &Digest,
    body: &[u8],
) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM job_output WHERE job_id = ?1 AND epoch = ?2",
        params![job, epoch],
    )?;
    keep(tx, job, epoch, digest, body)
}

pub fn find<Q: Query + ?Sized>(
    query: &mut Q,
    job: i64,
    epoch: i64,
) -> Result<Option<JobOutput>, Error> {
    let row = query.query_one(
        "SELECT digest, size, body, object_key FROM job_output WHERE job_id = ?1 AND epoch = ?2",
        params![job, epoch],
    )?;
    row.map(|row| {
        let digest: String = row.get(0)?;
        Ok(JobOutput {
            digest: digest.parse().map_err(|_| Error::Corrupt {
                what: format!("output of job {job} has the digest {digest:?}"),
            })?,
            size: row.get(1)?,
            body: row.get(2)?,
            object_key: row.get(3)?,
        })
    })
    .transpose()
}

/// The bytes are durable at `key` now: the row lets go of its copy.
pub fn moved(tx: &mut dyn Tx, job: i64, epoch: i64, key: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE job_output SET body = NULL, object_key = ?3 WHERE job_id = ?1 AND epoch = ?2",
        params![job, epoch, key],
    )?;
    Ok(())
}
