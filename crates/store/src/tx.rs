//! A transaction, and what may be done in one: the same words on `SQLite` and on PostgreSQL.

use kiln_model::Millis;
use serde::{Deserialize, Serialize};

use crate::tape::Transcript;
use crate::{Bell, Error, Row, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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
///
/// A statement that failed poisons its frame, as PostgreSQL has it: every later statement answers the same error until
/// the frame is rolled back, and a closure that answers `Ok` over a poisoned frame is rolled back all the same.
/// Where a failure is expected, write `ON CONFLICT DO NOTHING`, or open a nested frame around the statement.
pub trait Tx: Query {
    /// Kernel time, read once for the whole batch. Decisions use this one.
    fn now(&self) -> Millis;
    /// The wall clock when the closure began. For the record, and to put things into the order in which people did them: of
    /// two closures of which one was answered before the other was submitted, on whichever servers, it is the earlier.
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
    /// Makes this transaction the only one that works on the kernel's table until it ends. Costs nothing on `SQLite`,
    /// where there is one writer.
    fn lock_kernel(&mut self) -> Result<(), Error>;
    /// What a `SELECT` ends with whose row this transaction goes on to change.
    fn for_update(&self) -> &'static str {
        match self.engine() {
            Engine::Sqlite => "",
            Engine::Postgres => " FOR UPDATE",
        }
    }
    /// Waits until no other transaction holds `name`, and holds it until this one ends. One writer needs no such
    /// thing; several must not decide about the same limit from two snapshots.
    fn serialize_on(&mut self, name: &str) -> Result<(), Error> {
        if self.engine() == Engine::Postgres {
            self.query(
                "SELECT pg_advisory_xact_lock(hashtextextended(?1, 0))::text",
                &[Value::from(name)],
            )?;
        }
        Ok(())
    }
    /// How many nested frames this closure has open.
    fn nested_depth(&self) -> usize;
    /// Opens a nested frame: what follows can be undone by itself.
    fn begin_nested(&mut self) -> Result<(), Error>;
    /// Keeps what the innermost frame did.
    fn commit_nested(&mut self) -> Result<(), Error>;
    /// Undoes what the innermost frame did, its bells included, and closes it.
    fn rollback_nested(&mut self) -> Result<(), Error>;
    /// What this closure said and was told, while someone listens.
    #[doc(hidden)]
    fn transcript(&mut self) -> &mut Option<Transcript>;
}
