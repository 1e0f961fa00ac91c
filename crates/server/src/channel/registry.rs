//! Which channel speaks for a runner: the newest. An older one is told to go.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct Channels {
    newest: Mutex<BTreeMap<i64, (u64, CancellationToken)>>,
    /// Ends all of them.
    shutdown: CancellationToken,
}

/// A runner's place; given up when dropped, unless a newer channel has it by then.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    channels: &'a Channels,
    runner: i64,
    number: u64,
    pub(crate) superseded: CancellationToken,
}

impl Channels {
    pub(crate) fn enter(&self, runner: i64) -> Place<'_> {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let number = newest.get(&runner).map_or(0, |(number, _)| number + 1);
        let superseded = CancellationToken::new();
        if let Some((_, older)) = newest.insert(runner, (number, superseded.clone())) {
            older.cancel();
        }
        Place {
            channels: self,
            runner,
            number,
            superseded,
        }
    }

    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// How many runners are connected.
    pub(crate) fn count(&self) -> usize {
        self.newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut newest = self
            .channels
            .newest
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if newest
            .get(&self.runner)
            .is_some_and(|(number, _)| *number == self.number)
        {
            newest.remove(&self.runner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_channel_supersedes_the_older() {
        let channels = Channels::default();
        let first = channels.enter(7);
        let second = channels.enter(7);
        assert!(first.superseded.is_cancelled());
        drop(first);
        assert_eq!(channels.count(), 1);
        assert!(!second.superseded.is_cancelled());
        drop(second);
        assert_eq!(channels.count(), 0);
    }
}
