//! Which channel speaks for a slot of a runner: the newest. An older one is told to go.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kiln_model::Slot;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Default)]
pub(crate) struct Channels {
    state: Mutex<State>,
    /// Ends all of them.
    shutdown: CancellationToken,
}

#[derive(Debug, Default)]
struct State {
    /// By runner and the number of its slot.
    newest: BTreeMap<(i64, u32), Entry>,
    entered: u64,
}

#[derive(Debug)]
struct Entry {
    slot: Slot,
    number: u64,
    superseded: CancellationToken,
}

/// The place of a runner's slot; given up when dropped, unless a newer channel has it by then.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    channels: &'a Channels,
    runner: i64,
    slot: Slot,
    number: u64,
    pub(crate) superseded: CancellationToken,
}

impl Channels {
    /// Supersedes the channel of the same slot. A runner that comes with another number of slots was started again: what it had
    /// before goes, whichever slot it was.
    pub(crate) fn enter(&self, runner: i64, slot: Slot) -> Place<'_> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let older: Vec<(i64, u32)> = state
            .newest
            .range((runner, 0)..=(runner, u32::MAX))
            .filter(|(_, entry)| entry.slot == slot || entry.slot.of() != slot.of())
            .map(|(key, _)| *key)
            .collect();
        for key in older {
            if let Some(entry) = state.newest.remove(&key) {
                entry.superseded.cancel();
            }
        }
        state.entered += 1;
        let (number, superseded) = (state.entered, CancellationToken::new());
        let entry = Entry {
            slot,
            number,
            superseded: superseded.clone(),
        };
        state.newest.insert((runner, slot.number()), entry);
        Place {
            channels: self,
            runner,
            slot,
            number,
            superseded,
        }
    }

    pub(crate) fn shutdown(&self) -> &CancellationToken {
        &self.shutdown
    }

    /// How many runners are connected, with however many slots.
    pub(crate) fn count(&self) -> usize {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut before = None;
        let runners = state.newest.keys().map(|(runner, _)| *runner);
        runners
            .filter(|runner| before.replace(*runner) != Some(*runner))
            .count()
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let lock = self.channels.state.lock();
        let mut state = lock.unwrap_or_else(PoisonError::into_inner);
        let key = (self.runner, self.slot.number());
        if state
            .newest
            .get(&key)
            .is_some_and(|entry| entry.number == self.number)
        {
            state.newest.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(number: u32, of: u32) -> Slot {
        Slot::new(number, of).unwrap()
    }

    #[test]
    fn the_newest_channel_supersedes_the_older() {
        let channels = Channels::default();
        let first = channels.enter(7, Slot::WHOLE);
        let second = channels.enter(7, Slot::WHOLE);
        assert!(first.superseded.is_cancelled());
        drop(first);
        assert_eq!(channels.count(), 1);
        assert!(!second.superseded.is_cancelled());
        drop(second);
        assert_eq!(channels.count(), 0);
    }

    #[test]
    fn slots_do_not_supersede_each_other() {
        let channels = Channels::default();
        let first = channels.enter(7, slot(0, 2));
        let second = channels.enter(7, slot(1, 2));
        let again = channels.enter(7, slot(1, 2));
        assert!(!first.superseded.is_cancelled());
        assert!(second.superseded.is_cancelled());
        assert!(!again.superseded.is_cancelled());
        let _other = channels.enter(8, slot(1, 2));
        assert_eq!(channels.count(), 2);
    }

    #[test]
    fn another_number_of_slots_supersedes_all_of_the_runner() {
        let channels = Channels::default();
        let whole = channels.enter(7, Slot::WHOLE);
        let second = channels.enter(7, slot(1, 2));
        assert!(whole.superseded.is_cancelled());
        let third = channels.enter(7, slot(2, 3));
        assert!(second.superseded.is_cancelled());
        drop(second);
        assert!(!third.superseded.is_cancelled());
        let stranger = channels.enter(8, slot(0, 2));
        assert!(!stranger.superseded.is_cancelled());
        assert_eq!(channels.count(), 2);
    }
}
