//! How much of the disk each project uses, and may.

use crate::{Error, Query, Tx, params};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The sizes of all blobs that the project holds, whoever else holds them.
    pub bytes: u64,
    /// None: no limit.
    pub quota: Option<u64>,
}

impl Usage {
    /// How many more bytes the project may hold.
    pub fn room(&self) -> u64 {
        self.quota
            .map_or(u64::MAX, |quota| quota.saturating_sub(self.bytes))
    }
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, project: i64) -> Result<Usage, Error> {
    let row = query.query_one(
        "SELECT bytes, quota FROM registry_usage WHERE project_id = ?1",
        params![project],
    )?;
    match row {
        Some(row) => Ok(Usage {
            bytes: row.get(0)?,
            quota: row.get(1)?,
        }),
        None => Ok(Usage::default()),
    }
}

pub fn set_quota(tx: &mut dyn Tx, project: i64, quota: Option<u64>) -> Result<(), Error> {
    let quota = quota.map(super::piece::column);
    tx.execute(
        "INSERT INTO registry_usage (project_id, bytes, quota) VALUES (?1, 0, ?2) \
         ON CONFLICT (project_id) DO UPDATE SET quota = excluded.quota",
        params![project, quota],
    )?;
    Ok(())
}

pub(super) fn add(tx: &mut dyn Tx, project: i64, bytes: i64) -> Result<(), Error> {
    tx.execute(
        "INSERT INTO registry_usage (project_id, bytes) VALUES (?1, ?2) \
         ON CONFLICT (project_id) DO UPDATE SET bytes = registry_usage.bytes + excluded.bytes",
        params![project, bytes],
    )?;
    Ok(())
}
