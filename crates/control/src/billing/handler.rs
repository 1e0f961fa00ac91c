//! Runs the outbox: telling outside any transaction, settling in the one that removes the frame.

use std::sync::Arc;

use kiln_kernel::{
    Handler, Kv as _, MessageView, OnError, Policy, Preparing, Status, Step, Time, Worker,
    WorkerConfig,
};
use kiln_store::sql::billing_minute::{self, Minute};
use kiln_store::{Ledger, Query, Tx};

use super::outbox::{self, BILLING, Task};
use super::sink::{Delivery, Sink, Told};
use crate::Denied;
use crate::tasks::status;

/// How many minutes are told of at once.
const PAGE: usize = 256;

/// The kernel's handler for [`BILLING`](super::BILLING).
#[derive(Debug)]
pub struct BillingHandler {
    pub store: Ledger,
    pub sink: Arc<dyn Sink>,
}

/// What was refused and is refused again becomes a dead letter; trouble that may pass is no failure of a frame.
const POLICY: Policy = Policy {
    lease_ttl_ms: 30_000,
    retry_budget_max: 1,
    ..Policy::DEFAULT
};

/// The worker that tells of minutes, not yet running. `owner` names this server among those on the same database.
///
/// It takes one frame after the other: two that read the outbox before either has settled would tell of the same minutes. Its
/// leases are kept while somebody outside takes their time.
pub fn worker(
    ledger: Ledger,
    handler: BillingHandler,
    owner: u64,
    time: Arc<dyn Time>,
) -> Result<Worker<Ledger, BillingHandler>, Status> {
    let mut config = WorkerConfig::new(BILLING);
    config.max_batch = 1;
    config.runner.owner = owner;
    config.on_error = OnError::Survive;
    config.keep_leases = true;
    let worker = Worker::init(ledger, Arc::new(handler), config, time)?;
    worker.set_policy(POLICY);
    Ok(worker)
}

/// What the one who bills said.
#[derive(Debug)]
pub struct Prepared {
    minutes: Vec<Minute>,
    delivery: Delivery,
    task: Task,
}

impl Handler<dyn Tx> for BillingHandler {
    type Prepared = Prepared;

    fn prepare(&self, message: &MessageView<'_>, _: &Preparing<'_>) -> Result<Prepared, Status> {
        let task = serde_json::from_slice(message.payload)
            .map_err(|error| Status::Corrupt(format!("a task cannot be read: {error}")))?;
        let minutes = match task {
            Task::Bill { .. } => self.read(|query| {
                let page = i64::try_from(PAGE).expect("a small number");
                Ok(billing_minute::owed(query, page)?)
            })?,
            Task::BillRefused { job, minute, .. } => self.read(move |query| {
                let found = billing_minute::find_refused(query, job, minute)?;
                Ok(found.into_iter().collect())
            })?,
        };
        let delivery = if minutes.is_empty() {
            Delivery::default()
        } else {
            self.sink.deliver(&minutes)
        };
        if let (Task::BillRefused { .. }, Some(Told::Refused(reason))) =
            (&task, delivery.told.first())
        {
            return Err(Status::Error(format!("a minute was refused: {reason}")));
        }
        if let Some(trouble) = &delivery.trouble {
            tracing::warn!(
                trouble,
                "minutes could not be billed; they are kept and tried again"
            );
        }
        Ok(Prepared {
            minutes,
            delivery,
            task,
        })
    }

    fn apply(
        &self,
        prepared: &Prepared,
        _: &MessageView<'_>,
        tx: &mut (dyn Tx + 'static),
        _: &mut Step,
    ) -> Result<(), Status> {
        settle(tx, prepared).map_err(status)
    }
}

impl BillingHandler {
    fn read(
        &self,
        mut body: impl FnMut(&mut dyn Query) -> Result<Vec<Minute>, Denied> + Send + 'static,
    ) -> Result<Vec<Minute>, Status> {
        self.store.read(move |tx| body(tx).map_err(status))
    }
}

fn settle(tx: &mut dyn Tx, prepared: &Prepared) -> Result<(), Denied> {
    for (minute, told) in prepared.minutes.iter().zip(&prepared.delivery.told) {
        match told {
            Told::Taken => billing_minute::settle(tx, minute.id)?,
            Told::Refused(reason) => {
                billing_minute::refuse(tx, minute.id, reason)?;
                outbox::set_aside(tx, minute.job_id, minute.minute, reason)?;
            }
        }
    }
    let trouble = prepared.delivery.trouble.is_some();
    match &prepared.task {
        Task::Bill { failures } if trouble => outbox::back_off(tx, *failures),
        Task::Bill { .. } if outbox::is_owed(tx)? => outbox::go_on(tx),
        Task::Bill { .. } => outbox::rest(tx),
        // It waits with all the others for the trouble to pass.
        Task::BillRefused { .. } if trouble => {
            for minute in &prepared.minutes {
                billing_minute::owe_again(tx, minute.id)?;
            }
            outbox::wake(tx)
        }
        Task::BillRefused { .. } => Ok(()),
    }
}
