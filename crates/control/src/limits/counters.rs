//! What was done in the current minute, hour and day.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use kiln_model::Millis;

use super::rate::WINDOWS;
use super::{Limited, Who};

/// Beyond this many callers a day newcomers are not counted: it is better to let a stranger through than to refuse those
/// who were there before, and memory must end somewhere.
pub(super) const MAX_CALLERS: usize = 100_000;

#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    rows: BTreeMap<(Limited, Who), Row>,
    /// The day in which rows of other days were last swept out.
    swept: i64,
}

/// For each window, which one it is and what was done in it.
#[derive(Clone, Copy, Debug, Default)]
struct Row([(i64, u32); 3]);

impl Counters {
    pub(super) fn get(&self, limited: Limited, who: Who, wall: Millis) -> [u32; 3] {
        let table = self.lock();
        let row = table.rows.get(&(limited, who)).copied();
        row.unwrap_or_default().at(wall).0.map(|(_, count)| count)
    }

    pub(super) fn add(&self, limited: Limited, who: Who, wall: Millis) {
        let mut table = self.lock();
        table.sweep(wall);
        let known = table.rows.contains_key(&(limited, who));
        if !known && table.rows.len() >= MAX_CALLERS {
            return;
        }
        let row = table.rows.entry((limited, who)).or_default();
        *row = row.at(wall);
        for (_, count) in &mut row.0 {
            *count = count.saturating_add(1);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn sweep(&mut self, wall: Millis) {
        let today = wall.0.div_euclid(WINDOWS[2]);
        if today != self.swept {
            self.rows.retain(|_, row| row.0[2].0 == today);
            self.swept = today;
        }
    }
}

impl Row {
    /// With nothing done in windows that have begun since.
    fn at(self, wall: Millis) -> Self {
        let mut row = self;
        for (window, length) in row.0.iter_mut().zip(WINDOWS) {
            let current = wall.0.div_euclid(length);
            if window.0 != current {
                *window = (current, 0);
            }
        }
        row
    }
}
