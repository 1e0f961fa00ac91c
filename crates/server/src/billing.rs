//! Who is told of runner minutes: a file, a payment provider, or nobody.

mod lines;
mod stripe;
#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_control::billing::{self, BillingHandler, Delivery, NoBilling, Sink, Told};
use kiln_kernel::{Time, Worker};
use kiln_model::Millis;
use kiln_store::Ledger;
use kiln_store::sql::billing_minute::Minute;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use crate::StartError;
use crate::app::Shared;
use crate::metrics::Count;
use lines::Lines;
pub use stripe::Stripe;

/// The worker looks at the clock at least this often.
const MAX_IDLE_MS: u32 = 1_000;

/// Who is told of runner minutes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Billing {
    /// Nobody; they are counted all the same.
    #[default]
    Off,
    /// A file with one JSON object a line.
    Lines(PathBuf),
    /// Meter events, as Stripe takes them.
    Stripe(Stripe),
}

pub(crate) type BillingWorker = Worker<Ledger, BillingHandler>;

/// Starts telling. Blocks; `stop` ends what is under way.
pub(crate) fn start(
    app: &Shared,
    billing: &Billing,
    owner: u64,
    handle: Handle,
    stop: CancellationToken,
) -> Result<BillingWorker, StartError> {
    let ledger = app.store.ledger.clone();
    let sink: Arc<dyn Sink> = match billing {
        Billing::Off => Arc::new(NoBilling),
        Billing::Lines(path) => {
            Arc::new(
                Lines::open(path.clone()).map_err(|source| StartError::Billing {
                    place: path.display().to_string(),
                    source,
                })?,
            )
        }
        Billing::Stripe(stripe) => {
            let connected = stripe.connect(handle.clone(), stop.clone());
            Arc::new(connected.map_err(|error| StartError::Billing {
                place: stripe.url.clone(),
                source: io::Error::other(error),
            })?)
        }
    };
    ledger.submit(billing::ensure).wait()?;
    let handler = BillingHandler {
        store: ledger.clone(),
        sink: Arc::new(Counted {
            inner: sink,
            app: Arc::clone(app),
        }),
    };
    let time = SleepUntilStop {
        ledger: ledger.clone(),
        handle,
        stop,
    };
    let worker = billing::worker(ledger, handler, owner, Arc::new(time))?;
    worker.set_idle_policy(MAX_IDLE_MS);
    worker.start()?;
    Ok(worker)
}

/// Counts what a sink says.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn Sink>,
    app: Shared,
}

impl Sink for Counted {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        let delivery = self.inner.deliver(minutes);
        let taken = |told: &&Told| **told == Told::Taken;
        let taken = delivery.told.iter().filter(taken).count();
        let failed = delivery.told.len() - taken + usize::from(delivery.trouble.is_some());
        self.app.metrics.add(Count::MinutesBilled, taken);
        self.app.metrics.add(Count::MinutesBilledFailed, failed);
        delivery
    }
}

/// Kernel time, and sleep that ends with the server. New minutes gather for a while, so nobody is woken for one.
struct SleepUntilStop {
    ledger: Ledger,
    handle: Handle,
    stop: CancellationToken,
}

impl fmt::Debug for SleepUntilStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SleepUntilStop").finish_non_exhaustive()
    }
}

impl Time for SleepUntilStop {
    fn now(&self) -> Millis {
        self.ledger.now()
    }

    fn sleep(&self, span: Duration) {
        self.handle.block_on(async {
            tokio::select! {
                () = self.stop.cancelled() => {}
                () = tokio::time::sleep(span) => {}
            }
        });
    }
}
