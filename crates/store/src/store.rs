//! Opening a store: the database, its ledger and readers, its bells, its objects.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use kiln_model::{Clock, Entropy};

use crate::bells::Relay;
use crate::engine::postgres::{Postgres, place, refuse};
use crate::engine::sqlite::Sqlite;
use crate::engine::{Session, Transaction};
use crate::kernel_time::KernelTime;
use crate::ledger::submit::Parts;
use crate::ledger::worker::SharedSession;
#[cfg(any(test, feature = "testing"))]
use crate::ledger::{FaultPlan, inline::Inline};
use crate::location::Location;
use crate::migrate;
use crate::owner::OwnerLock;
use crate::{Bells, Error, Ledger, Objects, Reader, StoreConfig};

/// A commit of SQLite costs an fsync whatever its size; more than this adds latency and no throughput.
const SQLITE_BATCH: usize = 256;
/// More savepoints than this overflow PostgreSQL's cache of subtransactions, and hold locks too long.
const POSTGRES_BATCH: usize = 32;

/// An open store.
#[derive(Clone, Debug)]
pub struct Store {
    pub ledger: Ledger,
    pub reader: Reader,
    pub bells: Bells,
    pub objects: Objects,
    owner: Arc<Mutex<Option<OwnerLock>>>,
    relay: Option<Arc<Relay>>,
}

impl Store {
    /// Opens, or makes, what the configuration names. Blocks: connect and migrate come first.
    pub fn open(config: &StoreConfig) -> Result<Self, Error> {
        match Location::parse(&config.database)? {
            Location::Memory => Self::open_memory(config),
            Location::Sqlite(path) => Self::open_sqlite(config, &path),
            Location::Postgres(postgres) => Self::open_postgres(config, &postgres),
        }
    }

    /// Tells a second process where to find this one.
    pub fn announce(&self, address: &str) -> Result<(), Error> {
        match &mut *self.owner.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(lock) => lock.announce(Some(address)),
            None => Ok(()),
        }
    }

    /// Commits what is waiting and lets go of everything. Blocks until that is done.
    pub fn close(&self) {
        self.reader.close();
        self.ledger.close();
        if let Some(relay) = &self.relay {
            relay.stop();
        }
        self.owner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
    }

    fn open_memory(config: &StoreConfig) -> Result<Self, Error> {
        let objects = open_objects(config)?;
        let mut session = Transaction::new(Sqlite::memory()?);
        let clock = Arc::clone(&config.clock);
        let time = prepare(
            &mut session,
            &config.database,
            clock,
            config.entropy.as_ref(),
        )?;
        let session = share(session);
        let reader = Reader::shared(Arc::clone(&session), Arc::clone(&time));
        Self::start(vec![session], time, reader, objects, SQLITE_BATCH)
    }

    fn open_sqlite(config: &StoreConfig, path: &Path) -> Result<Self, Error> {
        let owner = OwnerLock::take(path, config.address.as_deref())?;
        let mut session = Transaction::new(Sqlite::open(path)?);
        let name = path.display().to_string();
        // A foreign file is refused before anything in it is changed, and so is a wrong place for objects.
        migrate::guard(&mut session, &name)?;
        let objects = open_objects(config)?;
        session.driver_mut().make_durable(path)?;
        let clock = Arc::clone(&config.clock);
        let time = prepare(&mut session, &name, clock, config.entropy.as_ref())?;
        let readers = (0..config.readers.max(1))
            .map(|_| Ok(Box::new(Transaction::new(Sqlite::open_reader(path)?)) as Box<dyn Session>))
            .collect::<Result<Vec<_>, Error>>()?;
        let reader = Reader::pool(readers, Arc::clone(&time))?;
        let mut store = Self::start(vec![share(session)], time, reader, objects, SQLITE_BATCH)?;
        store.owner = Arc::new(Mutex::new(Some(owner)));
        Ok(store)
    }

    fn open_postgres(config: &StoreConfig, postgres: &postgres::Config) -> Result<Self, Error> {
        let connect = || {
            Postgres::new(postgres.clone(), config.entropy.as_ref())
                .map(Transaction::new)
                .map_err(|failure| refuse(postgres, &failure))
        };
        let mut first = connect()?;
        let objects = open_objects(config)?;
        first.driver_mut().lock_schema()?;
        let clock = Arc::clone(&config.clock);
        let prepared = prepare(&mut first, &place(postgres), clock, config.entropy.as_ref());
        first.driver_mut().unlock_schema()?;
        let time = prepared?;
        time.observe(first.driver_mut().clock()?);
        let mut writers = vec![share(first)];
        for _ in 1..config.writers {
            writers.push(share(connect()?));
        }
        let readers = (0..config.readers.max(1))
            .map(|_| Ok(Box::new(connect()?) as Box<dyn Session>))
            .collect::<Result<Vec<_>, Error>>()?;
        let reader = Reader::pool(readers, Arc::clone(&time))?;
        let mut store = Self::start(writers, time, reader, objects, POSTGRES_BATCH)?;
        let relay = Relay::start(postgres, &store.bells, config.entropy.as_ref())?;
        store.relay = Some(Arc::new(relay));
        Ok(store)
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn start_inline(
        session: SharedSession,
        time: Arc<KernelTime>,
        objects: Objects,
        faults: Arc<dyn FaultPlan>,
    ) -> Self {
        let bells = Bells::default();
        let reader = Reader::shared(Arc::clone(&session), Arc::clone(&time));
        let inline = Inline::new(session, bells.clone(), faults);
        let ledger = Ledger::start_inline(inline, time, reader.clone());
        Self {
            ledger,
            reader,
            bells,
            objects,
            owner: Arc::default(),
            relay: None,
        }
    }

    fn start(
        sessions: Vec<SharedSession>,
        time: Arc<KernelTime>,
        reader: Reader,
        objects: Objects,
        batch_limit: usize,
    ) -> Result<Self, Error> {
        let bells = Bells::default();
        let ledger = Ledger::start(Parts {
            sessions,
            time,
            reader: reader.clone(),
            bells: bells.clone(),
            batch_limit,
        })?;
        Ok(Self {
            ledger,
            reader,
            bells,
            objects,
            owner: Arc::default(),
            relay: None,
        })
    }
}

/// After the database: a database that is refused leaves no directory behind.
fn open_objects(config: &StoreConfig) -> Result<Objects, Error> {
    Objects::open(&config.objects, Arc::clone(&config.entropy))
}

fn share(session: impl Session + 'static) -> SharedSession {
    Arc::new(Mutex::new(Box::new(session)))
}

/// Guards, migrates, and takes up kernel time where it was left.
pub(crate) fn prepare(
    session: &mut dyn Session,
    name: &str,
    clock: Arc<dyn Clock>,
    entropy: &dyn Entropy,
) -> Result<Arc<KernelTime>, Error> {
    let found = migrate::guard(session, name)?;
    migrate::migrate(session, found, entropy)?;
    let mark = migrate::kernel_time(session)?;
    Ok(Arc::new(KernelTime::resume(clock, mark)))
}

#[cfg(test)]
mod tests;
