//! Running the steps of a log again, on a snapshot, with the clock of the log.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

use kiln_model::Millis;

use super::divergence::{Replayed, compare, not_dispatched};
use super::format::{LogReader, Logged};
use crate::keys::{InboxKey, TimerKey};
use crate::kv::Pair;
use crate::policy::Policy;
use crate::runner::{Disposition, StepRecord};
use crate::slot::Slot;
use crate::{Dbi, Handler, Kv, KvTx, Runner, RunnerConfig, Status, inbox};

/// How many rows are looked at to find a frame that lies at another sequence than in the log.
const SEARCH: usize = 10_000;

/// Replays a log against a store that holds what the original held when the log began. Stops at the first step that
/// comes out differently.
///
/// Frames that arrived from outside while the log was written are put in when their step comes. `config` gives all but the
/// worker, which each record names.
pub fn replay<K: Kv, H: Handler<K::Tx>>(
    kv: &K,
    handler: &Arc<H>,
    config: &RunnerConfig,
    policy: Policy,
    log: &[u8],
) -> Result<Replayed, Status> {
    let mut replayed = Replayed::default();
    let reader = match LogReader::new(log) {
        Ok(reader) => reader,
        Err(error) => {
            return Ok(Replayed {
                log: Some(error),
                ..replayed
            });
        }
    };
    let mut runners: BTreeMap<u64, Again<K, H>> = BTreeMap::new();
    for record in reader {
        let expected = match record {
            Ok(expected) => expected,
            Err(error) => {
                return Ok(Replayed {
                    log: Some(error),
                    ..replayed
                });
            }
        };
        let worker = expected.worker;
        let runner = match runners.entry(worker) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let config = RunnerConfig {
                    worker,
                    ..config.clone()
                };
                new.insert(Again::boot(kv, handler, config, policy)?)
            }
        };
        place(kv, &expected)?;
        let step = replayed.steps + 1;
        let divergence = match runner.step(&expected) {
            Ok(found) => {
                follow(kv, &expected, &found)?;
                compare(step, &expected, &found)
            }
            Err(why) => Some(not_dispatched(step, &why)),
        };
        if divergence.is_some() {
            return Ok(Replayed {
                divergence,
                ..replayed
            });
        }
        replayed.steps = step;
    }
    Ok(replayed)
}

/// A runner that is told what to run and when.
struct Again<K, H> {
    runner: Runner<K, H>,
    last: Arc<Mutex<Option<Logged>>>,
}

impl<K: Kv, H: Handler<K::Tx>> Again<K, H> {
    fn boot(
        kv: &K,
        handler: &Arc<H>,
        config: RunnerConfig,
        policy: Policy,
    ) -> Result<Self, Status> {
        let runner = Runner::boot(kv.clone(), Arc::clone(handler), config)?;
        runner.set_policy(policy);
        let last = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&last);
        runner.set_step_sink(Some(Arc::new(move |step: &StepRecord<'_>| {
            *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Logged::from(step));
        })));
        Ok(Self { runner, last })
    }

    fn step(&self, expected: &Logged) -> Result<Logged, Status> {
        // The runner reads the clock to claim and to start the first half; whatever comes later is the second.
        let reads = Cell::new(0);
        let clock = || {
            reads.set(reads.get() + 1);
            if reads.get() <= 2 {
                expected.prepared_at
            } else {
                expected.applied_at
            }
        };
        let polled = self.runner.poll_slot(expected.slot, &clock);
        let found = self
            .last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        found.ok_or_else(|| polled.failure.unwrap_or(Status::NotFound))
    }
}

/// Makes sure that the frame lies where the log has it. It may lie at another sequence, because something from outside
/// came in between, or nowhere yet, because it came from outside itself.
fn place<K: Kv>(kv: &K, expected: &Logged) -> Result<(), Status> {
    let (slot, frame) = (expected.slot, expected.frame.clone());
    kv.write(move |tx| {
        let (dbi, key) = (slot.dbi(), slot.key());
        match tx.get(dbi, &key)? {
            Some(there) if there == frame => return Ok(()),
            Some(another) => make_room(tx, slot, &another)?,
            None => {}
        }
        let elsewhere = neighbours(tx, slot)?
            .into_iter()
            .find(|(_, there)| *there == frame);
        if let Some((key, _)) = elsewhere {
            move_away(tx, slot, &key)?;
        }
        tx.insert(dbi, &key, &frame)
    })
}

/// Puts a requeued row where the log has it.
fn follow<K: Kv>(kv: &K, expected: &Logged, found: &Logged) -> Result<(), Status> {
    let (Slot::Inbox(_), Disposition::Requeued { seq: to, .. }) =
        (expected.slot, expected.disposition)
    else {
        return Ok(());
    };
    let Disposition::Requeued { seq: from, .. } = found.disposition else {
        return Ok(());
    };
    if from == to {
        return Ok(());
    }
    let worker = expected.worker;
    let (from, to) = (InboxKey::new(worker, from), InboxKey::new(worker, to));
    kv.write(move |tx| {
        for (dbi, old, new) in [
            (Dbi::INBOX, from.to_bytes(), to.to_bytes()),
            (Dbi::LEASES, from.to_bytes(), to.to_bytes()),
        ] {
            if let Some(value) = tx.get(dbi, &old)? {
                tx.delete(dbi, &old)?;
                tx.put(dbi, &new, &value)?;
            }
        }
        Ok(())
    })
}

fn make_room<T: KvTx + ?Sized>(tx: &mut T, slot: Slot, another: &[u8]) -> Result<(), Status> {
    move_away(tx, slot, &slot.key())?;
    match slot {
        Slot::Inbox(key) => {
            let next = inbox::next_seq(tx, key.worker)?.max(key.seq.saturating_add(1));
            tx.insert(
                Dbi::INBOX,
                &InboxKey::new(key.worker, next).to_bytes(),
                another,
            )
        }
        Slot::Timer(key) => {
            crate::timers::arm_from(tx, key.due, key.seq.saturating_add(1), another).map(drop)
        }
    }
}

fn move_away<T: KvTx + ?Sized>(tx: &mut T, slot: Slot, key: &[u8]) -> Result<(), Status> {
    let at = match slot {
        Slot::Inbox(_) => Slot::Inbox(InboxKey::decode(key)?),
        Slot::Timer(_) => Slot::Timer(TimerKey::decode(key)?),
    };
    tx.delete(Dbi::LEASES, at.lease_key().as_slice())?;
    tx.delete(at.dbi(), key).map(drop)
}

/// The rows among which the frame may lie: the inbox of the same worker, or the timers of the same due time.
fn neighbours<T: KvTx + ?Sized>(tx: &mut T, slot: Slot) -> Result<Vec<Pair>, Status> {
    let (from, until) = match slot {
        Slot::Inbox(key) => InboxKey::range_of(key.worker),
        Slot::Timer(key) => {
            let next = Millis(key.due.0.wrapping_add(1));
            let until = (key.due.0 != -1).then(|| TimerKey::new(next, 0).to_bytes());
            (TimerKey::new(key.due, 0).to_bytes(), until)
        }
    };
    tx.scan(
        slot.dbi(),
        &from,
        until.as_ref().map(<[u8; 16]>::as_slice),
        SEARCH,
    )
}
