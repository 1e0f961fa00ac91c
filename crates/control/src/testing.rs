//! A store in memory with a runner, a lane and a clock that is moved by hand, for the tests of this crate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use kiln_kernel::{Worker, WorkerConfig};
use kiln_model::{Digest, Kind, Millis, Priority, Retry, RunnerUuid, Slot, Status, Timeouts};
use kiln_store::sql::job::{self, Job, NewJob};
use kiln_store::sql::{job_event, lane, runner};
use kiln_store::tape::KernelStore;
use kiln_store::testing::{
    ManualClock, MemoryDatabase, NoFaults, SeededEntropy, postgres_database,
};
use kiln_store::{Error, Ledger, ObjectKey, Store, StoreConfig, Tx};

use crate::housekeeping::Housekeeper;
use crate::jobs::{self, Claim, Holder};
use crate::tasks::{Objects, SERVER, TaskHandler, Unwatched};
use crate::{Denied, Heartbeats, Truth};

pub(crate) const LEASE: Duration = Duration::from_secs(90);
pub(crate) const RUN: Duration = Duration::from_mins(5);
pub(crate) const GRACE: Duration = Duration::from_mins(1);
pub(crate) const SET_UP: Duration = Duration::from_mins(10);

pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    worker: Worker<Ledger, TaskHandler>,
    housekeeper: Arc<Pages>,
    pub(crate) lane: i64,
}

/// Counts the pages that were looked after.
#[derive(Debug, Default)]
struct Pages(AtomicUsize);
impl Housekeeper for Pages {
    fn page(&self, from: Option<&str>) -> Result<Option<String>, Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        let page: usize = from.map_or(1, |from| from.parse().unwrap());
        Ok((page < World::PAGES).then(|| (page + 1).to_string()))
    }
}

#[derive(Debug)]
struct NoObjects;
impl Objects for NoObjects {
    fn get(&self, _: &ObjectKey, _: &Digest) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }
}

#[derive(Debug)]
pub(crate) struct KernelTime(pub(crate) Ledger);
impl kiln_kernel::Time for KernelTime {
    fn now(&self) -> Millis {
        self.0.now()
    }
    fn sleep(&self, _: Duration) {}
}

impl World {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::default());
        let database = MemoryDatabase::new().unwrap();
        let store = Store::inline(
            &database,
            clock.clone(),
            &SeededEntropy::new(1),
            Arc::new(NoFaults),
        );
        Self::of(store.unwrap(), clock)
    }

    /// The same on a database of its own.
    pub(crate) fn on_postgres() -> Self {
        let clock = Arc::new(ManualClock::default());
        let entropy = Arc::new(SeededEntropy::new(1));
        let config = StoreConfig {
            objects: "memory:".to_owned(),
            ..StoreConfig::new(postgres_database(), clock.clone(), entropy)
        };
        Self::of(Store::open(&config).unwrap(), clock)
    }

    fn of(store: Store, clock: Arc<ManualClock>) -> Self {
        let housekeeper = Arc::new(Pages::default());
        let handler = TaskHandler {
            store: KernelStore::live(store.ledger.clone()),
            objects: Arc::new(NoObjects),
            housekeeper: Arc::clone(&housekeeper) as _,
            watch: Arc::new(Unwatched),
            opened: store.ledger.now(),
        };
        let time = Arc::new(KernelTime(store.ledger.clone()));
        let worker = Worker::init(
            store.ledger.clone(),
            Arc::new(handler),
            WorkerConfig::new(SERVER),
            time,
        )
        .unwrap();
        worker.runner().start().unwrap();
        let lane = write(&store, |tx| Ok(lane::ensure(tx, "test")?));
        // The first lease window after a start decides nothing; the tests begin after it.
        clock.advance(i64::try_from(LEASE.as_millis()).unwrap());
        Self {
            store,
            clock,
            worker,
            housekeeper,
            lane,
        }
    }

    /// How many pages one round of housekeeping has here.
    pub(crate) const PAGES: usize = 2;

    pub(crate) fn pages(&self) -> usize {
        self.housekeeper.0.load(Ordering::Relaxed)
    }

    pub(crate) fn write<R: Send + 'static>(
        &self,
        body: impl FnMut(&mut dyn Tx) -> Result<R, Denied> + Send + 'static,
    ) -> R {
        write(&self.store, body)
    }

    pub(crate) fn try_write<R: Send + 'static>(
        &self,
        body: impl FnMut(&mut dyn Tx) -> Result<R, Denied> + Send + 'static,
    ) -> Result<R, Denied> {
        self.store.ledger.submit(body).wait()
    }

    /// Writes the heartbeats of the last second.
    pub(crate) fn flush(&self, heartbeats: &Heartbeats) -> Vec<Truth> {
        let flushes = heartbeats.take().into_iter();
        flushes.flat_map(|flush| self.write(flush)).collect()
    }

    /// A runner that serves the world's lane.
    pub(crate) fn runner(&self, name: &str) -> i64 {
        let (lane, name) = (self.lane, name.to_owned());
        let uuid = RunnerUuid::mint(
            Millis(1),
            &SeededEntropy::new(name.bytes().map(u64::from).sum()),
        );
        self.write(move |tx| {
            let id = runner::insert(
                tx,
                uuid,
                &name.parse().unwrap(),
                &name.parse().unwrap(),
                &name,
            )?;
            lane::link(tx, id, lane)?;
            Ok(id)
        })
    }

    pub(crate) fn ask(&self, kind: Kind) -> NewJob {
        NewJob {
            public_id: None,
            kind,
            lane: self.lane,
            organization: None,
            project: None,
            report: None,
            spec: None,
            queue: None,
            source_address: None,
            limit_key: None,
            priority: Priority::TEAM,
            work: "{}".to_owned(),
            timeouts: Timeouts {
                run: RUN,
                grace: GRACE,
                lease: LEASE,
                set_up: SET_UP,
                pending: None,
            },
            retry: match kind {
                Kind::Bench => Retry::Never,
                Kind::Action => Retry::DEFAULT_ACTION,
                Kind::Runtime => Retry::DEFAULT_RUNTIME,
            },
            retry_of: None,
            root: None,
            created: self.store.ledger.wall(),
            shared: false,
        }
    }

    pub(crate) fn submit(&self, ask: NewJob) -> i64 {
        self.write(move |tx| Ok(jobs::submit(tx, ask.clone(), "test")?.id))
    }

    pub(crate) fn claim(&self, runner: i64) -> Option<Job> {
        self.claim_in(runner, Slot::WHOLE).into_job()
    }

    pub(crate) fn claim_in(&self, runner: i64, slot: Slot) -> jobs::Claimed {
        self.write(move |tx| {
            jobs::claim(
                tx,
                &Claim {
                    runner,
                    slot,
                    actor: "test",
                    lease_id: None,
                },
            )
        })
    }

    pub(crate) fn start(&self, job: i64, holder: Holder) -> jobs::Directive {
        self.write(move |tx| jobs::start(tx, job, holder, "test"))
    }

    pub(crate) fn job(&self, id: i64) -> Job {
        self.write(move |tx| Ok(job::find(tx, id)?.unwrap()))
    }

    pub(crate) fn status(&self, id: i64) -> Status {
        self.job(id).life.status
    }

    /// The statuses a job went through.
    pub(crate) fn path(&self, id: i64) -> Vec<Status> {
        self.write(move |tx| {
            let events = job_event::after(tx, id, 0, 1_000)?;
            Ok(events.into_iter().filter_map(|event| event.to).collect())
        })
    }

    /// Lets time pass and the kernel do what is due.
    pub(crate) fn pass(&self, span: Duration) {
        self.clock.advance(i64::try_from(span.as_millis()).unwrap());
        self.tick();
    }

    pub(crate) fn tick(&self) {
        loop {
            let polled = self.worker.tick();
            assert_eq!(polled.failure, None);
            if polled.processed == 0 {
                return;
            }
        }
    }
}

fn write<R: Send + 'static>(
    store: &Store,
    body: impl FnMut(&mut dyn Tx) -> Result<R, Denied> + Send + 'static,
) -> R {
    store.ledger.submit(body).wait().unwrap()
}
