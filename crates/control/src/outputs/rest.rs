//! Outputs come to rest: what was put to use leaves the database for its object key, a little later and a little at a time, so that
//! no job waits for it.

use kiln_model::Digest;
use kiln_store::sql::job_output;
use kiln_store::{Error, ObjectKey, Query, Tx};

use crate::Denied;

/// An output that may leave, and where to.
#[derive(Clone, Debug)]
pub struct Resting {
    row: job_output::Resting,
    pub key: ObjectKey,
}

impl Resting {
    pub const fn digest(&self) -> &Digest {
        &self.row.digest
    }

    pub const fn size(&self) -> u64 {
        self.row.size
    }

    /// Its bytes, unless it has left, or was replaced.
    pub fn body(&self, query: &mut dyn Query) -> Result<Option<Vec<u8>>, Denied> {
        let found = job_output::find(query, self.row.job, self.row.epoch)?;
        let same = found.filter(|found| found.digest == self.row.digest);
        Ok(same.and_then(|found| found.body))
    }
}

/// Some of the outputs that may leave.
pub fn resting(query: &mut dyn Query, limit: u32) -> Result<Vec<Resting>, Denied> {
    let rows = job_output::resting(query, limit)?.into_iter();
    rows.map(|row| {
        let key = ObjectKey::output(&row.project, &row.public_id);
        let key = key.map_err(|error| Error::Corrupt {
            what: error.to_string(),
        })?;
        Ok(Resting { row, key })
    })
    .collect()
}

/// These are durable where they belong: the database lets go of them.
pub fn rested(tx: &mut dyn Tx, outputs: &[Resting]) -> Result<(), Denied> {
    for output in outputs {
        job_output::rested(tx, &output.row, output.key.as_str())?;
    }
    Ok(())
}
