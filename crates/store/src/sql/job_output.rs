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

/// An output that may leave for its object key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resting {
    pub job: i64,
    pub epoch: i64,
    pub digest: Digest,
    pub size: u64,
    /// The names of its project and its job.
    pub project: String,
    pub public_id: String,
}

/// Keeps the first output of an epoch; a repeated one changes nothing. One that is only to be kept may leave at once.
pub fn keep(
    tx: &mut dyn Tx,
    job: i64,
    epoch: i64,
    (digest, body): (&Digest, &[u8]),
    may_rest: bool,
) -> Result<(), Error> {
    let size = i64::try_from(body.len()).unwrap_or(i64::MAX);
    tx.execute(
        "INSERT INTO job_output (job_id, epoch, digest, size, body, resting) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (job_id, epoch) DO NOTHING",
        params![job, epoch, digest.as_str(), size, body, may_rest],
    )?;
    Ok(())
}

/// Replaces the output of an epoch whose earlier one turned out not to be the real one.
pub fn replace(
    tx: &mut dyn Tx,
    job: i64,
    epoch: i64,
    output: (&Digest, &[u8]),
) -> Result<(), Error> {
    tx.execute(
        "DELETE FROM job_output WHERE job_id = ?1 AND epoch = ?2",
        params![job, epoch],
    )?;
    keep(tx, job, epoch, output, false)
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
        Ok(JobOutput {
            digest: super::parse(&row, 0)?,
            size: row.get(1)?,
            body: row.get(2)?,
            object_key: row.get(3)?,
        })
    })
    .transpose()
}

/// The output was put to use: nobody needs it in a hurry any more.
pub fn may_rest(tx: &mut dyn Tx, job: i64, epoch: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE job_output SET resting = 1 WHERE job_id = ?1 AND epoch = ?2 AND body IS NOT NULL",
        params![job, epoch],
    )?;
    Ok(())
}

/// Outputs that may leave, the oldest jobs' first.
pub fn resting<Q: Query + ?Sized>(query: &mut Q, limit: u32) -> Result<Vec<Resting>, Error> {
    let rows = query.query(
        "SELECT job_output.job_id, job_output.epoch, job_output.digest, job_output.size, project.uuid, job.public_id \
         FROM job_output JOIN job ON job.id = job_output.job_id JOIN project ON project.id = job.project_id \
         WHERE job_output.resting = 1 ORDER BY job_output.job_id LIMIT ?1",
        params![limit],
    )?;
    rows.iter()
        .map(|row| {
            Ok(Resting {
                job: row.get(0)?,
                epoch: row.get(1)?,
                digest: super::parse(row, 2)?,
                size: row.get(3)?,
                project: row.get(4)?,
                public_id: row.get(5)?,
            })
        })
        .collect()
}

/// The bytes are durable at `key` now: the row lets go of its copy, unless it has others since.
pub fn rested(tx: &mut dyn Tx, output: &Resting, key: &str) -> Result<(), Error> {
    tx.execute(
        "UPDATE job_output SET body = NULL, object_key = ?4, resting = 0 \
         WHERE job_id = ?1 AND epoch = ?2 AND digest = ?3 AND resting = 1",
        params![output.job, output.epoch, output.digest.as_str(), key],
    )?;
    Ok(())
}
