//! The server's own time: the kernel's worker, which does what is due, and the pulse, which writes heartbeats.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kiln_control::housekeeping;
use kiln_control::tasks::{Objects, SERVER, TaskHandler, Watch};
use kiln_kernel::{Handler, OnError, Policy, Status, Time, Worker, WorkerConfig};
use kiln_model::{Digest, Millis};
use kiln_store::tape::KernelStore;
use kiln_store::{Bell, Error, Listener, ObjectKey, Store, Tx};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::app::Shared;
use crate::keeper::Keeper;

/// How often heartbeats are written.
const PULSE: Duration = Duration::from_secs(1);
/// The worker looks at the clock at least this often, whatever it hears.
const MAX_IDLE_MS: u32 = 1_000;
/// How many frames one round takes.
const BATCH: usize = 64;

/// Trouble with the disk or S3 may last: a frame is tried for about an hour before it becomes a dead letter.
const POLICY: Policy = Policy {
    lease_ttl_ms: 30_000,
    retry_budget_max: 64,
    requeue_backoff_ms: 100,
    requeue_backoff_max_ms: 60_000,
    ..Policy::DEFAULT
};

/// The kernel worker of this server.
pub(crate) type KernelWorker = Worker<KernelStore, TaskHandler>;

/// `owner` names this server among those on the same database; `kernel` is its ledger, recorded or not.
pub(crate) fn start_kernel(
    store: &Store,
    kernel: KernelStore,
    owner: u64,
    handle: Handle,
    watch: Arc<dyn Watch>,
) -> Result<KernelWorker, Status> {
    let handler = TaskHandler {
        opened: kernel.now(),
        store: kernel.clone(),
        objects: Arc::new(StoredOutputs {
            objects: store.objects.clone(),
            handle: handle.clone(),
        }),
        housekeeper: Arc::new(Keeper {
            store: store.clone(),
            handle,
        }),
        watch,
    };
    let time = LedgerTime {
        kernel: kernel.clone(),
        bell: Mutex::new(store.bells.subscribe(Bell::Kernel)),
    };
    store
        .ledger
        .submit(housekeeping::ensure)
        .wait()
        .map_err(|denied| Status::Store(denied.to_string()))?;
    let worker = init(kernel, handler, owner, Arc::new(time))?;
    worker.start()?;
    Ok(worker)
}

/// A worker that is set up as every server sets it up, and does not run yet.
pub(crate) fn init<H: Handler<dyn Tx>>(
    kernel: KernelStore,
    handler: H,
    owner: u64,
    time: Arc<dyn Time>,
) -> Result<Worker<KernelStore, H>, Status> {
    let mut config = WorkerConfig::new(SERVER);
    config.max_batch = BATCH;
    // Servers on one database share the worker; their leases must not look alike.
    config.runner.owner = owner;
    config.on_error = OnError::Survive;
    let worker = Worker::init(kernel.clone(), Arc::new(handler), config, time)?;
    worker.set_policy(POLICY);
    worker.set_idle_policy(MAX_IDLE_MS);
    worker
        .runner()
        .set_step_sink(Some(Arc::new(move |step| kernel.step(step))));
    Ok(worker)
}

/// Kernel time; and sleep that a bell ends.
struct LedgerTime {
    kernel: KernelStore,
    bell: Mutex<Listener>,
}

impl fmt::Debug for LedgerTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LedgerTime").finish_non_exhaustive()
    }
}

impl Time for LedgerTime {
    fn now(&self) -> Millis {
        self.kernel.now()
    }

    fn sleep(&self, span: Duration) {
        self.bell
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .wait_timeout(span);
    }
}

/// Outputs that were uploaded; the kernel's thread waits for them.
struct StoredOutputs {
    objects: kiln_store::Objects,
    handle: Handle,
}

impl fmt::Debug for StoredOutputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredOutputs").finish_non_exhaustive()
    }
}

impl Objects for StoredOutputs {
    fn get(&self, key: &ObjectKey, digest: &Digest) -> Result<Vec<u8>, Error> {
        self.handle.block_on(async {
            let reader = self.objects.read_named(key, digest).await?;
            Ok(reader.collect(u64::MAX).await?.to_vec())
        })
    }
}

/// Writes what the channels have heard, output and signs of life, once a second, until the server stops.
pub(crate) async fn pulse(app: Shared, stop: CancellationToken) {
    let mut interval = tokio::time::interval(PULSE);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = interval.tick() => {}
            () = stop.cancelled() => return,
        }
        if !app.live.is_empty()
            && let Err(error) = app.store.ledger.submit(app.live.take()).await
        {
            tracing::warn!(%error, "what running jobs wrote was not kept; their results bring it again");
        }
        if let Some(contacts) = app.contacts.take()
            && let Err(error) = app.store.ledger.submit(contacts).await
        {
            tracing::warn!(%error, "when runners were last heard was not written; it is with their next word");
        }
        for flush in app.heartbeats.take() {
            match app.store.ledger.submit(flush).await {
                // Whatever ended the job, and wherever: its channel looks again, and the runner is told.
                Ok(truths) => {
                    for truth in truths.iter().filter(|truth| truth.is_over()) {
                        app.store.bells.ring(Bell::Job(truth.job));
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "heartbeats were not written; leases live on what was written before");
                }
            }
        }
    }
}
