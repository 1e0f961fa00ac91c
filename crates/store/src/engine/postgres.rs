//! PostgreSQL: the connection, what its errors mean, and commits whose answer was lost.

mod codec;
mod connect;
mod placeholders;

use std::collections::HashMap;
use std::thread;
use std::time::Duration;

use kiln_model::{Entropy, Millis};
use postgres::error::SqlState;
use postgres::{Client, Config, SimpleQueryMessage, Statement};

use super::{Begin, Commit, Driver};
use crate::{DatabaseErrorKind, Engine, Error, Row, Value};

pub(crate) use connect::{connect, place, refuse};

/// Advisory locks of Kiln: the first number is ours, the second says what is locked.
const LOCK_KERNEL: &str = "SELECT pg_advisory_xact_lock(1263095886, 1)";
/// A migration elsewhere may take as long as it needs.
const LOCK_SCHEMA: &str =
    "SET lock_timeout = 0; SELECT pg_advisory_lock(1263095886, 2); SET lock_timeout = '10s'";
const UNLOCK_SCHEMA: &str = "SELECT pg_advisory_unlock(1263095886, 2)";

const CLOCK: &str = "SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
const BEGIN_WRITE: &str =
    "BEGIN; SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)";
const BEGIN_READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// More than all the statements of this project; past it the cache starts anew.
const STATEMENTS: usize = 1_024;
/// How often a lost answer is asked for, with pauses that grow to [`LONGEST_PAUSE`]: about half a minute.
const RESOLVE_ATTEMPTS: u32 = 20;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Every so many commits, marks older than [`MARK_AGE`] milliseconds are removed.
const PRUNE_EVERY: u64 = 1_000;
const MARK_AGE: i64 = 3_600_000;

pub(crate) struct Postgres {
    config: Config,
    client: Option<Client>,
    statements: HashMap<String, Statement>,
    /// The transaction begun is still there.
    open: bool,
    /// The database's clock when it began.
    began: Millis,
    /// Names the batches of this connection: random once, then counted.
    name: [u8; 8],
    batches: u64,
}

impl Postgres {
    pub(crate) fn new(config: Config, entropy: &dyn Entropy) -> Result<Self, postgres::Error> {
        let client = connect(&config)?;
        let mut name = [0; 8];
        entropy.fill(&mut name);
        Ok(Self {
            config,
            client: Some(client),
            statements: HashMap::new(),
            open: false,
            began: Millis::ZERO,
            name,
            batches: 0,
        })
    }

    /// Waits until no other server looks at the schema or changes it.
    pub(crate) fn lock_schema(&mut self) -> Result<(), Error> {
        self.script(LOCK_SCHEMA)
    }

    pub(crate) fn unlock_schema(&mut self) -> Result<(), Error> {
        self.script(UNLOCK_SCHEMA)
    }

    /// The database's clock.
    pub(crate) fn clock(&mut self) -> Result<Millis, Error> {
        self.query(CLOCK, &[])?.first().ok_or_else(no_clock)?.get(0)
    }

    fn client(&mut self) -> Result<&mut Client, Error> {
        if self.client.is_none() {
            self.statements.clear();
            let client = connect(&self.config)
                .map_err(|failure| Error::database(DatabaseErrorKind::Io, describe(&failure)))?;
            self.client = Some(client);
        }
        self.client
            .as_mut()
            .ok_or_else(|| Error::database(DatabaseErrorKind::Io, "no connection"))
    }

    /// A statement for parameters of these types. Saying the types spares the server from guessing them, which fails
    /// where one parameter meets columns of two widths.
    fn prepare(&mut self, sql: &str, params: &[Value]) -> Result<Statement, Error> {
        if let Some(statement) = self.statements.get(sql)
            && codec::fit(params, statement.params())
        {
            return Ok(statement.clone());
        }
        let text = placeholders::numbered(sql);
        let prepared = self.client()?.prepare_typed(&text, &codec::types(params));
        let statement = prepared.map_err(|failure| self.fail(&failure))?;
        codec::check(sql, params, statement.params())?;
        if self.statements.len() >= STATEMENTS {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Says what a failure means, and notices when it took the connection or the transaction with it.
    fn fail(&mut self, failure: &postgres::Error) -> Error {
        if ends_connection(failure) {
            self.client = None;
            self.open = false;
        }
        if failure.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
            // A migration elsewhere changed what a cached statement answers.
            self.statements.clear();
        }
        let kind = kind(failure);
        if kind == DatabaseErrorKind::Conflict {
            self.open = false;
        }
        Error::database(kind, describe(failure))
    }

    fn next_batch(&mut self) -> String {
        self.batches += 1;
        let mut id = [0; 16];
        id[..8].copy_from_slice(&self.name);
        id[8..].copy_from_slice(&self.batches.to_be_bytes());
        format!("{:032x}", u128::from_be_bytes(id))
    }

    /// Finds out whether a batch was committed by claiming its mark. The unique key makes this wait for the old backend
    /// if it is still at work: either its mark is there, or ours is and it can never commit.
    fn resolve(&mut self, batch: &str) -> Commit {
        let claim = format!(
            "INSERT INTO ledger_commit (batch, committed_at) VALUES ('\\x{batch}', {}) ON CONFLICT (batch) DO NOTHING",
            self.began.0
        );
        let mut pause = Duration::from_millis(50);
        let mut last = String::new();
        for _ in 0..RESOLVE_ATTEMPTS {
            self.client = None;
            let claimed = self.client().and_then(|client| {
                client
                    .execute(&claim, &[])
                    .map_err(|failure| Error::database(DatabaseErrorKind::Io, describe(&failure)))
            });
            match claimed {
                Ok(0) => return Commit::Done,
                Ok(_) => {
                    return Commit::Failed(Error::database(
                        DatabaseErrorKind::Conflict,
                        "the connection was lost before the commit",
                    ));
                }
                Err(error) => last = error.to_string(),
            }
            thread::park_timeout(pause);
            pause = LONGEST_PAUSE.min(pause * 2);
        }
        self.client = None;
        Commit::Unresolved(Error::Unresolved { message: last })
    }

    fn prune(&mut self) {
        if !self.batches.is_multiple_of(PRUNE_EVERY) {
            return;
        }
        let sql = "DELETE FROM ledger_commit WHERE committed_at < ?1";
        if let Err(error) = self.execute(sql, &[Value::Int(self.began.0.saturating_sub(MARK_AGE))])
        {
            tracing::warn!(%error, "old commit marks were not removed; the next try comes later");
        }
    }
}

impl Driver for Postgres {
    const ENGINE: Engine = Engine::Postgres;

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql, params)?;
        let bound = codec::bind(params);
        let rows = self.client()?.query(&statement, &codec::borrow(&bound));
        let rows = rows.map_err(|failure| self.fail(&failure))?;
        rows.iter().map(codec::row).collect()
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        let statement = self.prepare(sql, params)?;
        let bound = codec::bind(params);
        let changed = self.client()?.execute(&statement, &codec::borrow(&bound));
        changed.map_err(|failure| self.fail(&failure))
    }

    fn script(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.client()?.batch_execute(sql);
        done.map_err(|failure| self.fail(&failure))
    }

    fn begin(&mut self, begin: Begin) -> Result<Option<Millis>, Error> {
        if begin == Begin::Read {
            self.script(BEGIN_READ)?;
            self.open = true;
            return Ok(None);
        }
        let answer = self.client()?.simple_query(BEGIN_WRITE);
        let answer = answer.map_err(|failure| self.fail(&failure))?;
        self.open = true;
        self.began = answer.iter().find_map(clock_of).ok_or_else(no_clock)?;
        Ok(Some(self.began))
    }

    fn in_transaction(&mut self) -> bool {
        self.open
    }

    fn commit(&mut self) -> Commit {
        let batch = self.next_batch();
        let sql = format!(
            "INSERT INTO ledger_commit (batch, committed_at) VALUES ('\\x{batch}', {}); COMMIT",
            self.began.0
        );
        let committed = match self.client() {
            Ok(client) => client.batch_execute(&sql),
            Err(error) => return Commit::Failed(error),
        };
        match committed {
            Ok(()) => {
                self.open = false;
                self.prune();
                Commit::Done
            }
            Err(failure) if ends_connection(&failure) => {
                tracing::warn!(error = %describe(&failure), "the answer to a commit was lost; asking again");
                self.open = false;
                self.resolve(&batch)
            }
            Err(failure) => {
                let error = self.fail(&failure);
                self.rollback();
                Commit::Failed(error)
            }
        }
    }

    fn rollback(&mut self) {
        self.open = false;
        // Without a connection there is no transaction either. A rollback outside of one is only a warning.
        if let Some(client) = &mut self.client
            && client.batch_execute("ROLLBACK").is_err()
        {
            self.client = None;
        }
    }

    fn lock_kernel(&mut self) -> Result<(), Error> {
        self.script(LOCK_KERNEL)
    }

    fn tables(&mut self) -> Result<Vec<String>, Error> {
        let sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()";
        self.query(sql, &[])?.iter().map(|row| row.get(0)).collect()
    }
}

fn clock_of(message: &SimpleQueryMessage) -> Option<Millis> {
    let SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    row.get(0)?.parse().ok().map(Millis)
}

fn no_clock() -> Error {
    Error::Corrupt {
        what: "the database did not tell its time".into(),
    }
}

/// Whether the connection is gone: only the server's own words, short of FATAL, leave it standing.
fn ends_connection(failure: &postgres::Error) -> bool {
    failure
        .as_db_error()
        .is_none_or(|told| matches!(told.severity(), "FATAL" | "PANIC"))
}

fn kind(failure: &postgres::Error) -> DatabaseErrorKind {
    let Some(code) = failure.code() else {
        return DatabaseErrorKind::Io;
    };
    if *code == SqlState::DISK_FULL {
        return DatabaseErrorKind::Full;
    }
    if *code == SqlState::LOCK_NOT_AVAILABLE || *code == SqlState::FEATURE_NOT_SUPPORTED {
        return DatabaseErrorKind::Conflict;
    }
    match &code.code()[..2] {
        "23" => DatabaseErrorKind::Constraint,
        "40" => DatabaseErrorKind::Conflict,
        "08" | "53" | "57" | "58" => DatabaseErrorKind::Io,
        _ => DatabaseErrorKind::Other,
    }
}

/// The server's own words where it had any.
fn describe(failure: &postgres::Error) -> String {
    match failure.as_db_error() {
        Some(told) => format!("{} ({})", told.message(), told.code().code()),
        None => std::error::Error::source(failure).map_or_else(
            || failure.to_string(),
            |source| format!("{failure}: {source}"),
        ),
    }
}

#[cfg(test)]
mod tests;
