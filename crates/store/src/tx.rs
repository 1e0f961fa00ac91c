//! A transaction, and what may be done in one: the same words on `SQLite` and on PostgreSQL.

use kiln_model::Millis;

use crate::{Bell, Error, Row, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// Something that answers queries on one consistent snapshot.
///
/// SQL is the portable subset: `?1` parameters (each used as often as you like), `RETURNING`, `ON CONFLICT`,
/// partial indexes, BIGINT milliseconds, TEXT, BLOB. Statements are cached by their text: keep it constant.
pub trait Query {
    fn engine(&self) -> Engine;
    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error>;

    /// The only row of an answer, or none. More than one is a bug in the query.
    fn query_one(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, Error> {
        let mut rows = self.query(sql, params)?;
        debug_assert!(rows.len() <= 1, "{sql} answered {} rows", rows.len());
        Ok(rows.pop())
    }
}

/// A write transaction: one closure of the ledger sees one of these.
pub trait Tx: Query {
    /// Kernel time, read once for the whole batch. Decisions use this one.
    fn now(&self) -> Millis;
    /// The wall clock, read once for the whole batch. For the record only.
    fn wall(&self) -> Millis;
    /// Runs a statement; answers how many rows it changed.
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error>;
    /// Rings after the commit, and only if this closure was kept.
    fn ring(&mut self, bell: Bell);
    /// What a `SELECT` that picks work to claim ends with: nothing on `SQLite`, where there is one writer.
    fn skip_locked(&self) -> &'static str {
        match self.engine() {
            Engine::Sqlite => "",
            Engine::Postgres => " FOR UPDATE SKIP LOCKED",
        }
    }
    fn begin_nested(&mut self) -> Result<(), Error>;
    fn commit_nested(&mut self) -> Result<(), Error>;
    fn rollback_nested(&mut self) -> Result<(), Error>;
}
