//! When idle runners were last heard, gathered in memory and written once a second for all of them together: that one asks for
//! work again is not worth a transaction. What a crash loses here, the runner's next word brings again.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_model::Millis;
use kiln_store::Tx;
use kiln_store::sql::runner;

use crate::Denied;

#[derive(Debug, Default)]
pub struct Contacts {
    /// By runner, so that flushes of two servers take rows in the same order.
    waiting: Mutex<BTreeMap<i64, Millis>>,
}

impl Contacts {
    pub fn hear(&self, runner: i64, at: Millis) {
        self.lock().insert(runner, at);
    }

    /// What is to be written, as a closure for the ledger; nothing when nobody was heard.
    pub fn take(&self) -> Option<impl FnMut(&mut dyn Tx) -> Result<(), Denied> + Send + use<>> {
        let heard = std::mem::take(&mut *self.lock());
        if heard.is_empty() {
            return None;
        }
        Some(move |tx: &mut dyn Tx| {
            for (&runner, &at) in &heard {
                runner::heard(tx, runner, at)?;
            }
            Ok(())
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i64, Millis>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::World;

    #[test]
    fn the_last_contact_of_each_runner_is_written_once() {
        let world = World::new();
        let (one, two) = (world.runner("one"), world.runner("two"));
        let contacts = Contacts::default();
        contacts.hear(one, Millis(10));
        contacts.hear(two, Millis(15));
        contacts.hear(one, Millis(20));
        world.write(contacts.take().unwrap());
        assert!(contacts.take().is_none());
        let last = |id| world.write(move |tx| Ok(runner::find(tx, id)?.unwrap().last_heartbeat));
        assert_eq!(last(one), Some(Millis(20)));
        assert_eq!(last(two), Some(Millis(15)));
    }
}
