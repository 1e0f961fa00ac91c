//! The two engines behind [`Tx`](crate::Tx).
//!
//! A [`Driver`] speaks to one database; [`Transaction`] gives both drivers the same meaning; a [`Session`] is a
//! transaction as the ledger and the readers use it, whatever the driver.

mod frames;
pub(crate) mod postgres;
pub(crate) mod sqlite;
mod transaction;

use crate::kernel_time::KernelTime;
use crate::{Bell, Engine, Error, Row, Tx, Value};

pub(crate) use transaction::Transaction;

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    Write,
    /// A write that met a conflict before: it takes the kernel lock first, so that it meets no deadlock over it.
    Again,
    Read,
}

/// How a COMMIT ended.
#[derive(Debug)]
pub(crate) enum Commit {
    Done,
    /// Nothing is committed, and the next transaction may go better.
    Failed(Error),
    /// An fsync failed: what is on disk is unknown, and only a restart finds out.
    Fatal(Error),
    /// The answer was lost and could not be asked for again.
    Unresolved(Error),
}

/// How the frame of a closure was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    Closed,
    /// What the closure did can only be undone with the whole transaction; the next one keeps its closures apart.
    Entangled,
}

/// One connection to a database, without any notion of frames or time.
pub(crate) trait Driver: Send + 'static {
    const ENGINE: Engine;

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error>;
    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error>;
    /// Runs several statements without parameters.
    fn script(&mut self, sql: &str) -> Result<(), Error>;
    /// Runs one statement without parameters that comes again and again, such as a savepoint.
    fn routine(&mut self, sql: &str) -> Result<(), Error> {
        self.script(sql)
    }
    /// Begins, and answers the database's own clock where kernel time is read from it.
    fn begin(&mut self, begin: Begin) -> Result<Option<kiln_model::Millis>, Error>;
    /// Whether the transaction begun is still there: a full disk or a deadlock ends it behind our back.
    fn in_transaction(&mut self) -> bool;
    fn commit(&mut self) -> Commit;
    fn rollback(&mut self);
    /// Waits until no other transaction works on the kernel's table.
    fn lock_kernel(&mut self) -> Result<(), Error>;
    fn tables(&mut self) -> Result<Vec<String>, Error>;
    /// Work that is better done after the answers than before them.
    fn tidy(&mut self) -> Commit {
        Commit::Done
    }
}

/// A transaction as its owner sees it: a [`Tx`] that can begin and end.
pub(crate) trait Session: Tx + Send {
    fn begin(&mut self, begin: Begin, time: &KernelTime) -> Result<(), Error>;
    fn in_transaction(&mut self) -> bool;
    fn commit(&mut self, time: &KernelTime) -> Commit;
    fn rollback(&mut self);
    /// Opens the frame of one closure.
    fn enter(&mut self, time: &KernelTime) -> Result<(), Error>;
    /// Closes it, keeping or undoing what the closure did.
    fn leave(&mut self, keep: bool) -> Result<Left, Error>;
    /// Why the closure that just ran cannot be kept, if so.
    fn objection(&self) -> Option<Error>;
    fn take_bells(&mut self) -> Vec<Bell>;
    fn script(&mut self, sql: &str) -> Result<(), Error>;
    fn tables(&mut self) -> Result<Vec<String>, Error>;
    fn tidy(&mut self) -> Commit;
    /// Makes the stored mark exactly now, so that a clean restart skips no time.
    fn settle_time(&mut self, time: &KernelTime) -> Result<(), Error>;
}

/// A session that borrows nothing, as closures of the kernel want their transaction.
pub(crate) type DynSession = dyn Session;
