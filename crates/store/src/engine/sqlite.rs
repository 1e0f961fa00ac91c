//! `SQLite`: the file, how it is opened, and what its errors mean.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use kiln_model::Millis;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql, ffi};

use super::{Begin, Commit, Driver};
use crate::{DatabaseErrorKind, Engine, Error, Row, Value};

/// Before this version a race on resetting the WAL could corrupt the database.
const OLDEST_SAFE: i32 = 3_051_003;
/// Only another program (a backup, a shell) can be in the way of the one writer; it gets this long.
const BUSY: Duration = Duration::from_secs(5);
/// How many pages the WAL may hold before it is copied back, which takes two fsyncs. One table of its index has room for 4,062.
const CHECKPOINT_PAGES: i32 = 4_000;
/// More than all the statements of this project, so that none is prepared twice.
const STATEMENTS: usize = 1_024;

#[derive(Debug)]
pub(crate) struct Sqlite {
    connection: Connection,
    wal_pages: Arc<AtomicI32>,
    /// Whether this connection may write, and so must be kept from it while it reads.
    writable: bool,
    reading: bool,
    /// An fsync failed. Nothing may be begun after it, for nothing it said could be trusted.
    broken: Option<Error>,
}

impl Sqlite {
    /// Opens or creates the file, but does not change what is in it.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let sqlite = Self::new(
            Connection::open_with_flags(path, flags).map_err(|e| refuse(path, &e))?,
            true,
        )?;
        // SQLite looks into the file only when it first reads.
        let look =
            sqlite
                .connection
                .query_row("SELECT COUNT(*) FROM sqlite_schema", [], |_| Ok(()));
        look.map_err(|e| refuse(path, &e))?;
        Ok(sqlite)
    }

    pub(crate) fn memory() -> Result<Self, Error> {
        Self::new(Connection::open_in_memory().map_err(|e| error(&e))?, true)
    }

    /// Opens a second connection to a file that a writer has open already.
    pub(crate) fn open_reader(path: &Path) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::new(
            Connection::open_with_flags(path, flags).map_err(|e| refuse(path, &e))?,
            false,
        )
    }

    /// Copies a file that may be in use into one that is not there yet.
    pub(crate) fn copy(path: &Path, to: &Path) -> Result<(), Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags).map_err(|e| refuse(path, &e))?;
        let to = to.to_string_lossy();
        let copied = connection.execute("VACUUM INTO ?1", [to.as_ref()]);
        copied.map(drop).map_err(|e| error(&e))
    }

    /// Sets the file up for durable group commit. Only after the guard knows that the file is ours.
    pub(crate) fn make_durable(&mut self, path: &Path) -> Result<(), Error> {
        let mode: String = self
            .connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))
            .map_err(|e| refuse(path, &e))?;
        if mode != "wal" {
            return Err(Error::Refused(format!(
                "{} is on a file system where SQLite cannot keep a write-ahead log; put the database on a local disk",
                path.display()
            )));
        }
        self.connection
            .execute_batch("PRAGMA synchronous = FULL")
            .map_err(|e| error(&e))?;
        let pages = Arc::clone(&self.wal_pages);
        // The hook replaces SQLite's own checkpoint, which hides a failed fsync of the database file.
        self.connection
            .wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
                pages.store(count, Ordering::Relaxed);
                Ok(())
            }))
            .map_err(|e| error(&e))
    }

    fn new(connection: Connection, writable: bool) -> Result<Self, Error> {
        let linked = rusqlite::version_number();
        if linked < OLDEST_SAFE {
            return Err(Error::Refused(format!(
                "this binary is linked with SQLite {}, which can corrupt its log; build it with the bundled one",
                rusqlite::version()
            )));
        }
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        // Without it the planner looks at bound values, and then compiles a cached statement again at every use: that was
        // 40% of the ledger thread's time.
        connection
            .set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
            .map_err(|e| error(&e))?;
        connection.busy_timeout(BUSY).map_err(|e| error(&e))?;
        connection
            .execute_batch("PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY")
            .map_err(|e| error(&e))?;
        Ok(Self {
            connection,
            wal_pages: Arc::default(),
            writable,
            reading: false,
            broken: None,
        })
    }

    /// Says what a failure means, and remembers one after which nothing can be trusted.
    fn fail(&mut self, failure: &rusqlite::Error) -> Error {
        let error = error(failure);
        if is_failed_fsync(failure) {
            self.broken = Some(error.clone());
        }
        error
    }

    fn set_query_only(&mut self, on: bool) -> Result<(), Error> {
        if self.writable {
            let sql = if on {
                "PRAGMA query_only = ON"
            } else {
                "PRAGMA query_only = OFF"
            };
            self.connection.execute_batch(sql).map_err(|e| error(&e))?;
        }
        self.reading = on;
        Ok(())
    }
}

impl Driver for Sqlite {
    const ENGINE: Engine = Engine::Sqlite;

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        query(&self.connection, sql, params).map_err(|failure| self.fail(&failure))
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        execute(&self.connection, sql, params).map_err(|failure| self.fail(&failure))
    }

    fn script(&mut self, sql: &str) -> Result<(), Error> {
        let done = self.connection.execute_batch(sql);
        done.map_err(|failure| self.fail(&failure))
    }

    fn routine(&mut self, sql: &str) -> Result<(), Error> {
        self.execute(sql, &[]).map(drop)
    }

    fn begin(&mut self, begin: Begin) -> Result<Option<Millis>, Error> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        match begin {
            Begin::Write | Begin::Again => self.routine("BEGIN IMMEDIATE")?,
            Begin::Read => {
                self.set_query_only(true)?;
                self.routine("BEGIN")?;
            }
        }
        Ok(None)
    }

    fn in_transaction(&mut self) -> bool {
        !self.connection.is_autocommit()
    }

    fn commit(&mut self) -> Commit {
        let Err(error) = self.routine("COMMIT") else {
            return Commit::Done;
        };
        self.rollback();
        match &self.broken {
            Some(broken) => Commit::Fatal(broken.clone()),
            None => Commit::Failed(error),
        }
    }

    fn rollback(&mut self) {
        if !self.connection.is_autocommit()
            && let Err(failure) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(error = %failure, "rollback failed");
        }
        if self.reading
            && let Err(failure) = self.set_query_only(false)
        {
            tracing::error!(error = %failure, "the connection stays read-only");
        }
    }

    fn lock_kernel(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn tables(&mut self) -> Result<Vec<String>, Error> {
        let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
        self.query(sql, &[])?.iter().map(|row| row.get(0)).collect()
    }

    fn tidy(&mut self) -> Commit {
        let due = self.wal_pages.load(Ordering::Relaxed) >= CHECKPOINT_PAGES;
        let copied = if due {
            self.query("PRAGMA wal_checkpoint(PASSIVE)", &[]).map(drop)
        } else {
            Ok(())
        };
        match (&self.broken, copied) {
            (Some(broken), _) => Commit::Fatal(broken.clone()),
            (None, Err(error)) => Commit::Failed(error),
            (None, Ok(())) => Commit::Done,
        }
    }
}

fn query(connection: &Connection, sql: &str, params: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = connection.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(rusqlite::params_from_iter(params.iter().map(Bound)))?;
    let mut answer = Vec::new();
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|index| value(index, row.get_ref(index)?));
        answer.push(Row(values.collect::<rusqlite::Result<_>>()?));
    }
    Ok(answer)
}

fn execute(connection: &Connection, sql: &str, params: &[Value]) -> rusqlite::Result<u64> {
    let mut statement = connection.prepare_cached(sql)?;
    let changed = statement.execute(rusqlite::params_from_iter(params.iter().map(Bound)))?;
    Ok(changed as u64)
}

fn is_failed_fsync(failure: &rusqlite::Error) -> bool {
    failure.sqlite_error().is_some_and(|e| {
        matches!(
            e.extended_code,
            ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC
        )
    })
}

struct Bound<'a>(&'a Value);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(v) => ValueRef::Integer(*v),
            Value::Real(v) => ValueRef::Real(*v),
            Value::Text(v) => ValueRef::Text(v.as_bytes()),
            Value::Blob(v) => ValueRef::Blob(v),
        }))
    }
}

fn value(index: usize, stored: ValueRef<'_>) -> rusqlite::Result<Value> {
    Ok(match stored {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(v) => Value::Int(v),
        ValueRef::Real(v) => Value::Real(v),
        ValueRef::Text(v) => {
            let text = std::str::from_utf8(v);
            Value::Text(
                text.map_err(|e| rusqlite::Error::Utf8Error(index, e))?
                    .to_owned(),
            )
        }
        ValueRef::Blob(v) => Value::Blob(v.to_vec()),
    })
}

fn error(failure: &rusqlite::Error) -> Error {
    if let rusqlite::Error::Utf8Error(column, _) = failure {
        let what = format!("the text in column {column} is not UTF-8");
        return Error::Corrupt { what };
    }
    let Some(code) = failure.sqlite_error_code() else {
        return Error::database(DatabaseErrorKind::Other, failure.to_string());
    };
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "SQLite has thirty codes; these differ for us"
    )]
    let kind = match code {
        ErrorCode::ConstraintViolation => DatabaseErrorKind::Constraint,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DatabaseErrorKind::Conflict,
        ErrorCode::DiskFull => DatabaseErrorKind::Full,
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => DatabaseErrorKind::Io,
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            return Error::Corrupt {
                what: failure.to_string(),
            };
        }
        _ => DatabaseErrorKind::Other,
    };
    Error::database(kind, failure.to_string())
}

/// One line for the person who started the server.
pub(crate) fn refuse(path: &Path, failure: &rusqlite::Error) -> Error {
    let path = path.display();
    Error::Refused(match failure.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => {
            format!(
                "{path} is not a SQLite database; give the path of a Kiln database or of a new file"
            )
        }
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            format!(
                "{path} cannot be opened for writing; check that it and its directory belong to this user"
            )
        }
        _ => format!("{path} cannot be opened: {failure}"),
    })
}
