//! Starting a server on the host's database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use kiln_control::Heartbeats;
use kiln_control::billing::{self, BillingHandler};
use kiln_control::housekeeping::NoHousekeeping;
use kiln_control::tasks::{SERVER, TaskHandler, Unwatched};
use kiln_kernel::{OnError, Status, Time, Worker, WorkerConfig};
use kiln_model::Millis;
use kiln_store::tape::KernelStore;
use kiln_store::testing::{MemoryDatabase, SeededEntropy};
use kiln_store::{Bell, Ledger, Store};

use super::{Server, Trouble};
use crate::clock::SimClock;
use crate::crash::CrashPlan;
use crate::objects::SimObjects;
use crate::till::SimTill;

/// The kernel looks at its table at least this often.
const IDLE_MS: u32 = 10_000;

/// What outlives a server: its disk, its objects, the clocks of its machine, and its fate.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) database: MemoryDatabase,
    pub(crate) objects: Arc<SimObjects>,
    pub(crate) till: Arc<SimTill>,
    pub(crate) clock: Arc<SimClock>,
    pub(crate) entropy: SeededEntropy,
    pub(crate) plan: Arc<CrashPlan>,
    /// How many frames one kernel pass takes.
    pub(crate) batch: usize,
}

impl Server {
    pub(crate) fn start(host: &Host) -> Result<Self, Trouble> {
        let store = Store::inline(
            &host.database,
            Arc::clone(&host.clock) as _,
            &host.entropy,
            Arc::clone(&host.plan) as _,
        )
        .map_err(|error| Trouble::Unexpected(format!("the store does not open: {error}")))?;
        let opened = store.ledger.now();
        let kernel_bell = store.bells.subscribe(Bell::Kernel);
        let handler = TaskHandler {
            store: KernelStore::live(store.ledger.clone()),
            objects: Arc::clone(&host.objects) as _,
            housekeeper: Arc::new(NoHousekeeping),
            watch: Arc::new(Unwatched),
            opened,
        };
        let mut config = WorkerConfig::new(SERVER);
        config.max_batch = host.batch;
        config.on_error = OnError::Survive;
        let time = Arc::new(KernelTime(store.ledger.clone()));
        let not_booted = |status: Status| {
            if host.plan.has_crashed() {
                Trouble::Crashed
            } else {
                Trouble::Unexpected(format!("the kernel does not boot: {status}"))
            }
        };
        let worker = Worker::init(
            store.ledger.clone(),
            Arc::new(handler),
            config,
            Arc::clone(&time) as _,
        )
        .map_err(not_booted)?;
        worker.set_idle_policy(IDLE_MS);
        let handler = BillingHandler {
            store: store.ledger.clone(),
            sink: Arc::clone(&host.till) as _,
        };
        let billing =
            billing::worker(store.ledger.clone(), handler, 0, time).map_err(not_booted)?;
        billing.set_idle_policy(IDLE_MS);
        Ok(Self {
            store,
            opened,
            objects: Arc::clone(&host.objects),
            worker,
            billing,
            kernel_bell,
            heartbeats: Heartbeats::default(),
            beats: BTreeMap::new(),
            over: BTreeSet::new(),
            sessions: BTreeMap::new(),
            newest: BTreeMap::new(),
        })
    }
}

/// The kernel lives on the ledger's time line. It never sleeps here: the world calls it.
#[derive(Debug)]
struct KernelTime(Ledger);

impl Time for KernelTime {
    fn now(&self) -> Millis {
        self.0.now()
    }

    fn sleep(&self, _: Duration) {}
}
