//! Who waits for which bell, and who is woken.
//!
//! Subscribe, then look at the database, then wait: a ring after the subscription is never lost. Rings that nobody has
//! heard yet are one ring. A [`Bell::Lane`] wakes one listener for each ring, those that wait before those that are
//! still looking, the longest waiting first; every other bell wakes all of its listeners.

mod message;
mod relay;

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use crate::Bell;

use relay::Outbox;
pub(crate) use relay::Relay;

/// The bells of one server. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Bells {
    hub: Arc<Mutex<Hub>>,
    /// Where other servers are told.
    outbox: Arc<OnceLock<Arc<Outbox>>>,
}

/// Someone who wants to hear some bells.
#[derive(Debug)]
pub struct Listener {
    hub: Arc<Mutex<Hub>>,
    id: u64,
    is_rung: Arc<AtomicBool>,
    /// Whether it takes turns with others: who stops waiting for a lane's bell must not be given its ring.
    takes_turns: bool,
    /// Who is woken, as the hub knows it, for as long as nothing was heard. Without turns it stays there between two waits: ten
    /// thousand runners that are asked to go on once a second do not queue for the hub.
    woken: Option<Waker>,
}

#[derive(Debug, Default)]
struct Hub {
    next: u64,
    listeners: BTreeMap<u64, Slot>,
    /// For each bell, those who have not heard it rung: the waiting ones by the turn they took, and the others.
    bells: BTreeMap<Bell, Audience>,
    /// How often each lane's bell rang.
    lanes: BTreeMap<i64, u64>,
    /// How often rings may have been missed.
    missed: u64,
}

#[derive(Debug)]
struct Slot {
    bells: BTreeSet<Bell>,
    rung: BTreeSet<Bell>,
    /// Whether any is rung, for its listener to see without the hub.
    is_rung: Arc<AtomicBool>,
    /// When it began to wait, and how to wake it.
    waiting: Option<(u64, Waker)>,
}

#[derive(Debug, Default)]
struct Audience {
    waiting: BTreeMap<u64, u64>,
    looking: BTreeSet<u64>,
    /// Members that were rung and have not looked yet.
    rung: BTreeSet<u64>,
}

impl Bells {
    pub fn subscribe(&self, bell: Bell) -> Listener {
        self.subscribe_to([bell])
    }

    /// One listener for several bells.
    pub fn subscribe_to(&self, bells: impl IntoIterator<Item = Bell>) -> Listener {
        let bells: BTreeSet<Bell> = bells.into_iter().collect();
        let takes_turns = bells.iter().any(|bell| matches!(bell, Bell::Lane(_)));
        let is_rung = Arc::new(AtomicBool::new(false));
        let mut hub = lock(&self.hub);
        let id = hub.turn();
        for bell in &bells {
            hub.bells.entry(*bell).or_default().looking.insert(id);
        }
        hub.listeners.insert(
            id,
            Slot {
                bells,
                rung: BTreeSet::new(),
                is_rung: Arc::clone(&is_rung),
                waiting: None,
            },
        );
        Listener {
            hub: Arc::clone(&self.hub),
            id,
            is_rung,
            takes_turns,
            woken: None,
        }
    }

    /// How often the bells of these lanes rang on this server. Whoever found a lane empty, having asked this first, finds it empty
    /// again as long as the answer is the same.
    pub fn rings_of_lanes(&self, lanes: &[i64]) -> u64 {
        let hub = lock(&self.hub);
        let rings = lanes.iter().filter_map(|lane| hub.lanes.get(lane));
        rings.sum::<u64>() + hub.missed
    }

    pub fn ring(&self, bell: Bell) {
        self.ring_all(&[bell]);
    }

    /// Rings here and on the other servers.
    pub(crate) fn ring_all(&self, bells: &[Bell]) {
        self.ring_local(bells);
        if let Some(outbox) = self.outbox.get() {
            outbox.push(bells);
        }
    }

    /// Rings on the other servers only.
    pub fn ring_elsewhere(&self, bell: Bell) {
        if let Some(outbox) = self.outbox.get() {
            outbox.push(&[bell]);
        }
    }

    pub(crate) fn ring_local(&self, bells: &[Bell]) {
        let mut hub = lock(&self.hub);
        for bell in bells {
            hub.ring(*bell);
        }
    }

    fn attach(&self, outbox: Arc<Outbox>) {
        // One relay is started per store, before its bells are shared.
        drop(self.outbox.set(outbox));
    }

    /// Wakes every listener: rings may have been missed.
    pub(crate) fn ring_everything(&self) {
        let mut hub = lock(&self.hub);
        hub.missed += 1;
        let all: Vec<u64> = hub.listeners.keys().copied().collect();
        for id in all {
            let bells = hub
                .listeners
                .get(&id)
                .map(|slot| slot.bells.clone())
                .unwrap_or_default();
            for bell in bells {
                hub.ring_one(id, bell);
            }
        }
    }
}

impl Listener {
    /// Waits until one of the bells has rung since the subscription, or since it was last heard.
    pub fn heard(&mut self) -> impl Future<Output = ()> + Send + '_ {
        Heard { listener: self }
    }

    /// The same for a plain thread; tells whether a bell rang before `timeout` was over.
    pub fn wait_timeout(&mut self, timeout: Duration) -> bool {
        let (sender, woken) = sync_channel(1);
        let waker = Waker::from(Arc::new(Signal(sender)));
        let mut context = Context::from_waker(&waker);
        let mut heard = Heard { listener: self };
        loop {
            if Pin::new(&mut heard).poll(&mut context).is_ready() {
                return true;
            }
            match woken.recv_timeout(timeout) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

impl Listener {
    /// A ring is seen here or, if it comes after the look, wakes whom the hub knows.
    fn is_known_to_wait(&self, waker: &Waker) -> bool {
        let is_known = self
            .woken
            .as_ref()
            .is_some_and(|known| known.will_wake(waker));
        is_known && !self.is_rung.load(Ordering::Acquire)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        lock(&self.hub).leave(self.id);
    }
}

struct Heard<'a> {
    listener: &'a mut Listener,
}

impl Future for Heard<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let listener = &mut *self.listener;
        if listener.is_known_to_wait(context.waker()) {
            return Poll::Pending;
        }
        let mut hub = lock(&listener.hub);
        if hub.hear(listener.id) {
            listener.woken = None;
            return Poll::Ready(());
        }
        hub.wait(listener.id, context.waker());
        listener.woken = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Heard<'_> {
    fn drop(&mut self) {
        if self.listener.takes_turns {
            self.listener.woken = None;
            lock(&self.listener.hub).stop_waiting(self.listener.id);
        }
    }
}

struct Signal(SyncSender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        // A full channel holds a wake-up already.
        let _ = self.0.try_send(());
    }
}

impl Hub {
    fn turn(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn ring(&mut self, bell: Bell) {
        if let Bell::Lane(lane) = bell {
            *self.lanes.entry(lane).or_default() += 1;
        }
        let Some(audience) = self.bells.get(&bell) else {
            return;
        };
        match bell {
            Bell::Lane(_) => {
                let waiting = audience.waiting.first_key_value().map(|(_, id)| *id);
                if let Some(id) = waiting.or_else(|| audience.looking.first().copied()) {
                    self.ring_one(id, bell);
                }
            }
            Bell::Job(_) | Bell::Runner(_) | Bell::Slots(_) | Bell::Kernel => {
                let all: Vec<u64> = audience
                    .waiting
                    .values()
                    .chain(&audience.looking)
                    .copied()
                    .collect();
                for id in all {
                    self.ring_one(id, bell);
                }
            }
        }
    }

    fn ring_one(&mut self, id: u64, bell: Bell) {
        let Some(slot) = self.listeners.get_mut(&id) else {
            return;
        };
        slot.rung.insert(bell);
        // Before it is woken: it looks at this without the hub.
        slot.is_rung.store(true, Ordering::Release);
        self.stop_waiting_and(id, Waker::wake);
        let audience = self.bells.entry(bell).or_default();
        audience.looking.remove(&id);
        audience.rung.insert(id);
    }

    /// Takes the rings of a listener; it is looking again.
    fn hear(&mut self, id: u64) -> bool {
        let Some(slot) = self.listeners.get_mut(&id) else {
            return false;
        };
        let rung = std::mem::take(&mut slot.rung);
        slot.is_rung.store(false, Ordering::Release);
        for bell in &rung {
            let audience = self.bells.entry(*bell).or_default();
            audience.rung.remove(&id);
            audience.looking.insert(id);
        }
        !rung.is_empty()
    }

    fn wait(&mut self, id: u64, waker: &Waker) {
        let turn = self.turn();
        let Some(slot) = self.listeners.get_mut(&id) else {
            return;
        };
        if let Some((_, held)) = &mut slot.waiting {
            held.clone_from(waker);
            return;
        }
        slot.waiting = Some((turn, waker.clone()));
        for bell in &slot.bells {
            let audience = self.bells.entry(*bell).or_default();
            audience.looking.remove(&id);
            audience.waiting.insert(turn, id);
        }
    }

    fn stop_waiting(&mut self, id: u64) {
        self.stop_waiting_and(id, drop);
    }

    fn stop_waiting_and(&mut self, id: u64, then: impl FnOnce(Waker)) {
        let Some(slot) = self.listeners.get_mut(&id) else {
            return;
        };
        let Some((turn, waker)) = slot.waiting.take() else {
            return;
        };
        for bell in &slot.bells {
            let audience = self.bells.entry(*bell).or_default();
            audience.waiting.remove(&turn);
            audience.looking.insert(id);
        }
        then(waker);
    }

    /// Forgets a listener. A lane's ring that it was given and did not hear goes to another.
    fn leave(&mut self, id: u64) {
        self.stop_waiting(id);
        let Some(slot) = self.listeners.remove(&id) else {
            return;
        };
        for bell in &slot.bells {
            let Some(audience) = self.bells.get_mut(bell) else {
                continue;
            };
            audience.looking.remove(&id);
            audience.rung.remove(&id);
            if audience.is_empty() {
                self.bells.remove(bell);
            }
        }
        for bell in slot.rung {
            if matches!(bell, Bell::Lane(_)) {
                self.ring(bell);
            }
        }
    }
}

impl Audience {
    fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.looking.is_empty() && self.rung.is_empty()
    }
}

fn lock(hub: &Mutex<Hub>) -> MutexGuard<'_, Hub> {
    hub.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
