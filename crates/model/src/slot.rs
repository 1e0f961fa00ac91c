//! Slots: how a runner carries several jobs at once. Each slot has a channel of its own, and holds one job.

/// One slot of a runner that has some number of them. The only slot of one is the whole runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    number: u32,
    of: u32,
}

impl Slot {
    /// A runner that carries one job at a time, as stock runners do.
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// No runner has more: each is a connection, and a host that could carry more is better split into several runners.
    pub const MOST: u32 = 64;

    /// Nothing, when there is no such slot.
    pub const fn new(number: u32, of: u32) -> Option<Self> {
        if number < of && of <= Self::MOST {
            return Some(Self { number, of });
        }
        None
    }

    /// From 0.
    pub const fn number(self) -> u32 {
        self.number
    }

    /// How many slots the runner has.
    pub const fn of(self) -> u32 {
        self.of
    }

    pub const fn is_whole(self) -> bool {
        self.of == 1
    }

    /// How a job says where it is held: the whole runner's say nothing.
    pub const fn stored(self) -> Option<u32> {
        if self.is_whole() {
            return None;
        }
        Some(self.number)
    }

    /// Whether this slot answers for a job that is held in `stored`. The whole runner answers for all of them. The first slot of
    /// several also answers for those that no other does: what the runner was given as a whole, and what it was given
    /// in slots that it had before it was started again with fewer.
    pub fn covers(self, stored: Option<u32>) -> bool {
        match stored {
            Some(number) if number < self.of => number == self.number,
            Some(_) | None => self.number == 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_slots_below_their_number_and_not_too_many() {
        assert_eq!(Slot::new(0, 1), Some(Slot::WHOLE));
        assert!(Slot::new(63, 64).is_some());
        assert_eq!(Slot::new(0, 0), None);
        assert_eq!(Slot::new(2, 2), None);
        assert_eq!(Slot::new(0, 65), None);
    }

    #[test]
    fn every_job_is_answered_for_by_exactly_one_slot() {
        for of in 1..4 {
            for stored in [None, Some(0), Some(1), Some(2), Some(7)] {
                let slots = (0..of).filter_map(|number| Slot::new(number, of));
                let covering: Vec<u32> = slots
                    .filter(|slot| slot.covers(stored))
                    .map(Slot::number)
                    .collect();
                let expected = stored.filter(|number| *number < of).unwrap_or(0);
                assert_eq!(covering, [expected], "{stored:?} of {of}");
            }
        }
    }
}
