//! How many there are now of something.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Debug, Default)]
pub(crate) struct Level(Arc<AtomicUsize>);

/// One of them, until it is dropped.
#[derive(Debug)]
pub(crate) struct One(Level);

impl Level {
    pub(crate) fn enter(&self) -> One {
        self.0.fetch_add(1, Ordering::Relaxed);
        One(self.clone())
    }

    pub(super) fn now(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for One {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_falls_when_one_of_them_goes() {
        let level = Level::default();
        let (first, second) = (level.enter(), level.enter());
        assert_eq!(level.now(), 2);
        drop(first);
        assert_eq!(level.now(), 1);
        drop(second);
        assert_eq!(level.now(), 0);
    }
}
