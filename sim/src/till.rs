//! The one who bills: it outlives every server, hears some things twice, and now and then does not answer.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_control::billing::{Delivery, Sink, Told, idempotency_key};
use kiln_store::sql::billing_minute::Minute;

#[derive(Debug, Default)]
pub(crate) struct SimTill {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    taken: BTreeSet<String>,
    failures: u32,
}

impl SimTill {
    /// The next `count` deliveries break off.
    pub(crate) fn fail_next(&self, count: u32) {
        self.lock().failures = count;
    }

    /// The keys of everything it was ever told.
    pub(crate) fn taken(&self) -> BTreeSet<String> {
        self.lock().taken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for SimTill {
    fn deliver(&self, minutes: &[Minute]) -> Delivery {
        let mut state = self.lock();
        let mut delivery = Delivery::default();
        for minute in minutes {
            // It may have taken one whose answer is lost.
            state.taken.insert(idempotency_key(minute));
            if state.failures > 0 {
                state.failures -= 1;
                delivery.trouble = Some("the till does not answer".to_owned());
                return delivery;
            }
            delivery.told.push(Told::Taken);
        }
        delivery
    }
}
