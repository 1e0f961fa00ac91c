//! Where lines changed, remembered: finding it takes long, and a plot is looked at more often than it grows.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kiln_insight::{ChangePoint, ChangeSettings, Settled, grow_change_points};
use sha2::{Digest as _, Sha256};

/// So many lines are remembered; past it the memory starts anew.
const MAX_LINES: usize = 4_096;

/// What tells a line from others: its series, its head, its spec, and the report it begins with.
pub(super) type LineKey = (i64, i64, Option<i64>, i64);

/// The changes of lines that were asked for before. What it answers does not depend on what it remembers.
#[derive(Debug, Default)]
pub struct ChangeMemory {
    lines: Mutex<BTreeMap<LineKey, Remembered>>,
}

#[derive(Clone, Debug)]
struct Remembered {
    settled: Settled,
    /// Of the values that are settled.
    beginning: Fingerprint,
    /// Of all values.
    whole: Fingerprint,
    changes: Vec<ChangePoint>,
}

impl ChangeMemory {
    /// The changes of a line, oldest value first.
    pub(super) fn changes(&self, key: LineKey, values: &[f64]) -> Vec<ChangePoint> {
        let whole = fingerprint(values);
        let remembered = self.lock().get(&key).cloned();
        let mut settled = match remembered {
            Some(remembered) if remembered.whole == whole => return remembered.changes,
            Some(remembered) if remembered.is_beginning_of(values) => remembered.settled,
            _ => Settled::default(),
        };
        let changes = grow_change_points(&mut settled, values, ChangeSettings::default());
        let remembered = Remembered {
            beginning: fingerprint(&values[..settled.length()]),
            settled,
            whole,
            changes: changes.clone(),
        };
        let mut lines = self.lock();
        if lines.len() >= MAX_LINES {
            lines.clear();
        }
        lines.insert(key, remembered);
        changes
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<LineKey, Remembered>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Remembered {
    /// Whether what is settled is so for these values too: an older report may have come or gone.
    fn is_beginning_of(&self, values: &[f64]) -> bool {
        let beginning = values.get(..self.settled.length());
        beginning.is_some_and(|values| fingerprint(values) == self.beginning)
    }
}

type Fingerprint = [u8; 32];

fn fingerprint(values: &[f64]) -> Fingerprint {
    let mut hash = Sha256::new();
    for value in values {
        hash.update(value.to_le_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use kiln_insight::change_points;

    use super::*;

    const KEY: LineKey = (1, 1, None, 1);

    /// Two levels, of so many points each, with a noise that repeats itself.
    fn values(length: u32) -> Vec<f64> {
        let level = |place| if place < length { 100.0 } else { 150.0 };
        (0..2 * length)
            .map(|place| level(place) + f64::from(place * 7 % 11) / 10.0)
            .collect()
    }

    #[test]
    fn what_is_remembered_is_what_would_be_found() {
        let memory = ChangeMemory::default();
        let values = values(300);
        for end in [40, 280, 320, 320, 600] {
            let found = memory.changes(KEY, &values[..end]);
            let anew = change_points(&values[..end], ChangeSettings::default());
            assert_eq!(found, anew, "{end} values");
        }
    }

    #[test]
    fn a_beginning_that_changed_is_looked_at_again() {
        let memory = ChangeMemory::default();
        let mut values = values(300);
        memory.changes(KEY, &values);
        values.remove(0);
        let anew = change_points(&values, ChangeSettings::default());
        assert_eq!(memory.changes(KEY, &values), anew);
    }
}
