//! A database in memory that outlives its ledgers, so that a crash can be simulated.

use std::fmt;
use std::sync::{Arc, Mutex};

use kiln_model::{Clock, Entropy};

use crate::engine::Transaction;
use crate::engine::sqlite::Sqlite;
use crate::ledger::FaultPlan;
use crate::ledger::worker::{SharedSession, lock};
use crate::store::prepare;
use crate::testing::SeededEntropy;
use crate::{Error, Ledger, Objects, Store};

/// The "disk" of a simulated server: its database and its objects. Cheap to clone; every clone is the same database.
#[derive(Clone)]
pub struct MemoryDatabase {
    session: SharedSession,
    objects: Objects,
}

impl MemoryDatabase {
    pub fn new() -> Result<Self, Error> {
        let session = Transaction::new(Sqlite::memory()?);
        Ok(Self {
            session: Arc::new(Mutex::new(Box::new(session))),
            objects: Objects::open("memory:", Arc::new(SeededEntropy::new(0)))?,
        })
    }
}

impl Ledger {
    /// A ledger that runs each closure at once on the calling thread, as a batch of one, without any thread of its own.
    ///
    /// After a crash, drop it and make another on the same database: what was committed is there. One ledger at a time,
    /// and no reads inside a closure: there is one connection.
    pub fn inline(
        database: &MemoryDatabase,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
        faults: Arc<dyn FaultPlan>,
    ) -> Result<Self, Error> {
        Ok(Store::inline(database, clock, entropy, faults)?.ledger)
    }
}

impl fmt::Debug for MemoryDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryDatabase").finish_non_exhaustive()
    }
}

impl Store {
    /// A whole store around [`Ledger::inline`].
    pub fn inline(
        database: &MemoryDatabase,
        clock: Arc<dyn Clock>,
        entropy: &dyn Entropy,
        faults: Arc<dyn FaultPlan>,
    ) -> Result<Self, Error> {
        let time = prepare(
            lock(&database.session).as_mut(),
            "the in-memory database",
            clock,
            entropy,
        )?;
        Ok(Self::start_inline(
            Arc::clone(&database.session),
            time,
            database.objects.clone(),
            faults,
        ))
    }
}
