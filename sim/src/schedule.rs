//! What happens next: events in the order of their time, and of their scheduling where times are equal.

use std::collections::BTreeMap;

#[derive(Debug)]
pub(crate) struct Schedule<E> {
    now: i64,
    sequence: u64,
    events: BTreeMap<(i64, u64), E>,
}

impl<E> Schedule<E> {
    pub(crate) const fn new() -> Self {
        Self {
            now: 0,
            sequence: 0,
            events: BTreeMap::new(),
        }
    }

    pub(crate) const fn now(&self) -> i64 {
        self.now
    }

    pub(crate) fn at(&mut self, time: i64, event: E) {
        self.sequence += 1;
        self.events
            .insert((time.max(self.now), self.sequence), event);
    }

    pub(crate) fn after(&mut self, millis: i64, event: E) {
        self.at(self.now.saturating_add(millis), event);
    }

    /// Takes the next event and moves time to it; answers how much time passed.
    pub(crate) fn next(&mut self) -> Option<(i64, E)> {
        let ((time, _), event) = self.events.pop_first()?;
        let passed = time - self.now;
        self.now = time;
        Some((passed, event))
    }
}
