//! A bounded queue: async on the side of those who ask, blocking on the side of the threads that serve them.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;

#[derive(Debug)]
pub(crate) struct Queue<T> {
    /// One permit for each free place.
    places: Semaphore,
    state: Mutex<State<T>>,
    arrived: Condvar,
}

#[derive(Debug)]
struct State<T> {
    items: VecDeque<T>,
    closed: bool,
    /// How many threads wait for an item.
    waiting: usize,
}

/// Why an item was not taken; it comes back.
#[derive(Debug)]
pub(crate) enum Refusal<T> {
    Full(T),
    Closed(T),
}

impl<T> Queue<T> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            places: Semaphore::new(capacity),
            state: Mutex::new(State {
                items: VecDeque::new(),
                closed: false,
                waiting: 0,
            }),
            arrived: Condvar::new(),
        }
    }

    pub(crate) fn try_push(&self, item: T) -> Result<(), Refusal<T>> {
        match self.places.try_acquire() {
            Ok(place) => {
                place.forget();
                self.append(item).map_err(Refusal::Closed)
            }
            Err(tokio::sync::TryAcquireError::NoPermits) => Err(Refusal::Full(item)),
            Err(tokio::sync::TryAcquireError::Closed) => Err(Refusal::Closed(item)),
        }
    }

    /// Waits for a free place. The item comes back when the queue is closed.
    pub(crate) async fn push(&self, item: T) -> Result<(), T> {
        match self.places.acquire().await {
            Ok(place) => {
                place.forget();
                self.append(item)
            }
            Err(_) => Err(item),
        }
    }

    /// Waits for items and takes up to `limit` of them; none means that the queue is closed and empty.
    pub(crate) fn take(&self, limit: usize) -> Vec<T> {
        let mut state = self.lock();
        while state.items.is_empty() && !state.closed {
            state.waiting += 1;
            state = self
                .arrived
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        self.take_from(state, limit)
    }

    /// Waits a little for an item, and takes up to `limit` of what is there then.
    pub(crate) fn take_soon(&self, limit: usize, patience: Duration) -> Vec<T> {
        let mut state = self.lock();
        if state.items.is_empty() && !state.closed {
            state.waiting += 1;
            (state, _) = self
                .arrived
                .wait_timeout(state, patience)
                .unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        }
        self.take_from(state, limit)
    }

    /// Takes up to `limit` of the items that are there.
    pub(crate) fn take_ready(&self, limit: usize) -> Vec<T> {
        self.take_from(self.lock(), limit)
    }

    /// Refuses new items; those inside are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.places.close();
        self.arrived.notify_all();
    }

    fn take_from(&self, mut state: MutexGuard<'_, State<T>>, limit: usize) -> Vec<T> {
        let count = limit.min(state.items.len());
        let taken: Vec<T> = state.items.drain(..count).collect();
        drop(state);
        self.places.add_permits(taken.len());
        taken
    }

    fn append(&self, item: T) -> Result<(), T> {
        let mut state = self.lock();
        if state.closed {
            return Err(item);
        }
        state.items.push_back(item);
        // Waking nobody takes a system call too.
        let is_awaited = state.waiting > 0;
        drop(state);
        if is_awaited {
            self.arrived.notify_one();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ledger::pending::block_on;

    #[test]
    fn items_come_out_in_order_and_in_batches() {
        let queue = Queue::new(8);
        for item in 0..5 {
            queue.try_push(item).unwrap();
        }
        assert_eq!(queue.take(3), [0, 1, 2]);
        assert_eq!(queue.take(3), [3, 4]);
    }

    #[test]
    fn what_is_there_is_taken_without_waiting() {
        let queue = Queue::new(8);
        assert!(queue.take_ready(3).is_empty());
        queue.try_push(0).unwrap();
        assert_eq!(queue.take_ready(3), [0]);
    }

    #[test]
    fn who_waits_a_little_takes_what_comes_meanwhile_or_nothing() {
        let queue = Arc::new(Queue::new(8));
        assert!(queue.take_soon(3, Duration::ZERO).is_empty());
        let producer = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || queue.try_push(0).unwrap()
        });
        assert_eq!(queue.take_soon(3, Duration::from_mins(10)), [0]);
        producer.join().unwrap();
    }

    #[test]
    fn a_full_queue_holds_a_producer_back_until_a_place_is_free() {
        let queue = Arc::new(Queue::new(1));
        queue.try_push(1).unwrap();
        assert!(matches!(queue.try_push(2), Err(Refusal::Full(2))));
        let producer = std::thread::spawn({
            let queue = Arc::clone(&queue);
            move || block_on(queue.push(2))
        });
        assert_eq!(queue.take(9), [1]);
        assert_eq!(queue.take(9), [2]);
        producer.join().unwrap().unwrap();
    }

    #[test]
    fn a_closed_queue_serves_what_is_inside_and_refuses_the_rest() {
        let queue = Queue::new(4);
        queue.try_push(1).unwrap();
        queue.close();
        assert!(matches!(queue.try_push(2), Err(Refusal::Closed(2))));
        assert_eq!(block_on(queue.push(3)), Err(3));
        assert_eq!(queue.take(9), [1]);
        assert!(queue.take(9).is_empty());
    }
}
