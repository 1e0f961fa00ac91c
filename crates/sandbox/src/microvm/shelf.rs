//! Things that are kept for whoever needs the same again, bounded by what they take: the one that was not used for
//! longest goes first.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What takes room.
pub(crate) trait Weighed {
    fn bytes(&self) -> u64;
}

#[derive(Debug)]
pub(crate) struct Shelf<K, T> {
    bound_bytes: u64,
    /// The one that was used last comes last.
    things: Mutex<Vec<(K, Arc<T>)>>,
}

impl<K: PartialEq, T: Weighed> Shelf<K, T> {
    pub(crate) fn new(bound_bytes: u64) -> Self {
        Self {
            bound_bytes,
            things: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn find(&self, key: &K) -> Option<Arc<T>> {
        let mut things = self.lock();
        let at = things.iter().position(|(other, _)| other == key)?;
        let found = things.remove(at);
        let thing = Arc::clone(&found.1);
        things.push(found);
        Some(thing)
    }

    /// Takes one more, and gives up others until all are within the bound, or it is the only one. Whoever uses one that is
    /// given up has it until then.
    pub(crate) fn keep(&self, key: K, thing: &Arc<T>) {
        let mut things = self.lock();
        things.retain(|(other, _)| *other != key);
        things.push((key, Arc::clone(thing)));
        let taken = |things: &[(K, Arc<T>)]| things.iter().map(|(_, it)| it.bytes()).sum::<u64>();
        while things.len() > 1 && taken(&things) > self.bound_bytes {
            things.remove(0);
        }
    }

    /// Gives up one that has turned out to be of no use.
    pub(crate) fn give_up(&self, key: &K) {
        self.lock().retain(|(other, _)| other != key);
    }

    /// Gives up as many as it takes for that much memory to be left, by what the host says; all of them need not suffice.
    pub(crate) fn make_room(&self, bytes: u64, left: impl Fn() -> Option<u64>) {
        let mut things = self.lock();
        while !things.is_empty() && left().is_some_and(|left| left < bytes) {
            things.remove(0);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(K, Arc<T>)>> {
        // Nothing is ever half done in there.
        self.things.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    impl Weighed for u64 {
        fn bytes(&self) -> u64 {
            *self
        }
    }

    fn shelf(things: &[(&'static str, u64)]) -> Shelf<&'static str, u64> {
        let shelf = Shelf::new(100);
        for (name, bytes) in things {
            shelf.keep(*name, &Arc::new(*bytes));
        }
        shelf
    }

    fn names(shelf: &Shelf<&'static str, u64>) -> Vec<&'static str> {
        shelf.lock().iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn what_is_within_the_bound_is_kept_and_what_goes_beyond_it_pushes_the_least_used_out() {
        let shelf = shelf(&[("first", 40), ("second", 60)]);
        assert_eq!(names(&shelf), ["first", "second"]);
        assert_eq!(shelf.find(&"first").as_deref(), Some(&40));
        shelf.keep("third", &Arc::new(1));
        assert_eq!(names(&shelf), ["first", "third"]);
        assert_eq!(shelf.find(&"second"), None);
    }

    #[test]
    fn what_is_too_large_by_itself_is_alone_until_another_comes() {
        let shelf = shelf(&[("small", 1), ("huge", 101)]);
        assert_eq!(names(&shelf), ["huge"]);
        shelf.keep("small", &Arc::new(1));
        assert_eq!(names(&shelf), ["small"]);
    }

    #[test]
    fn the_same_again_takes_the_place_of_the_one_before() {
        let shelf = shelf(&[("same", 60), ("same", 70)]);
        assert_eq!(shelf.find(&"same").as_deref(), Some(&70));
        assert_eq!(names(&shelf), ["same"]);
    }

    #[test]
    fn what_is_of_no_use_goes_by_its_name() {
        let shelf = shelf(&[("good", 10), ("bad", 20)]);
        shelf.give_up(&"bad");
        assert_eq!(names(&shelf), ["good"]);
    }

    #[test]
    fn a_host_that_is_short_of_memory_gets_some_back() {
        let shelf = shelf(&[("first", 10), ("second", 20), ("third", 30)]);
        let left = Cell::new(0);
        let next = || Some(left.replace(left.get() + 10));
        shelf.make_room(20, next);
        assert_eq!(names(&shelf), ["third"]);
        // One that has enough, or does not say, gets nothing.
        shelf.make_room(20, || Some(20));
        shelf.make_room(20, || None);
        assert_eq!(names(&shelf), ["third"]);
    }

    #[test]
    fn what_is_in_use_stays_with_its_user() {
        let shelf = shelf(&[("used", 60)]);
        let used = shelf.find(&"used").unwrap();
        shelf.keep("other", &Arc::new(60));
        assert_eq!(names(&shelf), ["other"]);
        assert_eq!(*used, 60);
    }
}
