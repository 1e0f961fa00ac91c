//! The kernel's store: ordered bytes in one table, in the same transactions as everything else.

use kiln_kernel::kv::{MAX_VALUE, Pair};
use kiln_kernel::{Dbi, Kv, KvTx, Status};

use super::Ledger;
use crate::{DatabaseErrorKind, Error, Row, Tx, params};

const GET: &str = "SELECT value FROM kernel WHERE dbi = ?1 AND key = ?2";
const PUT: &str = "INSERT INTO kernel (dbi, key, value) VALUES (?1, ?2, ?3)
    ON CONFLICT (dbi, key) DO UPDATE SET value = excluded.value";
const INSERT: &str =
    "INSERT INTO kernel (dbi, key, value) VALUES (?1, ?2, ?3) ON CONFLICT (dbi, key) DO NOTHING";
const DELETE: &str = "DELETE FROM kernel WHERE dbi = ?1 AND key = ?2";
const DELETE_MATCHING: &str = "DELETE FROM kernel WHERE dbi = ?1 AND key = ?2 AND value = ?3";
const SCAN: &str =
    "SELECT key, value FROM kernel WHERE dbi = ?1 AND key >= ?2 ORDER BY key LIMIT ?3";
const SCAN_UNTIL: &str =
    "SELECT key, value FROM kernel WHERE dbi = ?1 AND key >= ?2 AND key < ?4 ORDER BY key LIMIT ?3";
const LAST: &str =
    "SELECT key, value FROM kernel WHERE dbi = ?1 AND key >= ?2 ORDER BY key DESC LIMIT 1";
const LAST_UNTIL: &str = "SELECT key, value FROM kernel WHERE dbi = ?1 AND key >= ?2 AND key < ?3 ORDER BY key DESC LIMIT 1";

impl Kv for Ledger {
    type Tx = dyn Tx;

    fn write<R, F>(&self, mut body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
    {
        self.submit_static(move |tx| body(tx).map_err(Refused))
            .wait()
            .map_err(|refused| refused.0)
    }

    fn read<R, F>(&self, mut body: F) -> Result<R, Status>
    where
        R: Send + 'static,
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, Status> + Send + 'static,
    {
        self.reader()
            .read_static(move |tx| body(tx).map_err(Refused))
            .wait()
            .map_err(|refused| refused.0)
    }
}

/// Every call takes the kernel lock: what a transaction read here is still true when it commits, on both engines.
impl KvTx for dyn Tx + '_ {
    fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        self.lock_kernel().map_err(status)?;
        let row = self.query_one(GET, params![dbi.0, key]).map_err(status)?;
        row.map(|row| row.get(0)).transpose().map_err(status)
    }

    fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        fits(value)?;
        self.lock_kernel().map_err(status)?;
        self.execute(PUT, params![dbi.0, key, value])
            .map(drop)
            .map_err(status)
    }

    fn insert(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<(), Status> {
        fits(value)?;
        self.lock_kernel().map_err(status)?;
        let inserted = self.execute(INSERT, params![dbi.0, key, value]);
        if inserted.map_err(status)? == 0 {
            return Err(Status::Exists);
        }
        Ok(())
    }

    fn delete(&mut self, dbi: Dbi, key: &[u8]) -> Result<bool, Status> {
        self.lock_kernel().map_err(status)?;
        let deleted = self.execute(DELETE, params![dbi.0, key]);
        Ok(deleted.map_err(status)? > 0)
    }

    fn scan(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
        limit: usize,
    ) -> Result<Vec<Pair>, Status> {
        self.lock_kernel().map_err(status)?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = match until {
            None => self.query(SCAN, params![dbi.0, from, limit]),
            Some(until) => self.query(SCAN_UNTIL, params![dbi.0, from, limit, until]),
        };
        rows.map_err(status)?.iter().map(pair).collect()
    }

    fn last(
        &mut self,
        dbi: Dbi,
        from: &[u8],
        until: Option<&[u8]>,
    ) -> Result<Option<Pair>, Status> {
        self.lock_kernel().map_err(status)?;
        let row = match until {
            None => self.query_one(LAST, params![dbi.0, from]),
            Some(until) => self.query_one(LAST_UNTIL, params![dbi.0, from, until]),
        };
        row.map_err(status)?.as_ref().map(pair).transpose()
    }

    fn delete_matching(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) -> Result<bool, Status> {
        self.lock_kernel().map_err(status)?;
        let deleted = self.execute(DELETE_MATCHING, params![dbi.0, key, value]);
        Ok(deleted.map_err(status)? > 0)
    }

    fn nested_depth(&self) -> Option<usize> {
        Some(Tx::nested_depth(self))
    }

    fn begin_nested(&mut self) -> Result<(), Status> {
        Tx::begin_nested(self).map_err(status)
    }

    fn commit_nested(&mut self) -> Result<(), Status> {
        Tx::commit_nested(self).map_err(status)
    }

    fn rollback_nested(&mut self) -> Result<(), Status> {
        Tx::rollback_nested(self).map_err(status)
    }
}

/// Carries a kernel status through the ledger, whose own errors become one.
struct Refused(Status);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(status(error))
    }
}

fn fits(value: &[u8]) -> Result<(), Status> {
    if value.len() > MAX_VALUE {
        Err(Status::Full)
    } else {
        Ok(())
    }
}

fn pair(row: &Row) -> Result<Pair, Status> {
    Ok((row.get(0).map_err(status)?, row.get(1).map_err(status)?))
}

pub(crate) fn status(error: Error) -> Status {
    match error {
        Error::Corrupt { what } => Status::Corrupt(what),
        Error::Database {
            kind: DatabaseErrorKind::Conflict,
            ..
        } => Status::Conflict,
        Error::Database { .. }
        | Error::Refused(_)
        | Error::Closed
        | Error::Unresolved { .. }
        | Error::Panicked { .. }
        | Error::Object { .. } => Status::Store(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
