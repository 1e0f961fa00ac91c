//! How many bytes an organization may move through the registry in a day, by its plan.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use kiln_model::Millis;

use super::rate::WINDOWS;
use crate::bench::Tier;

const GIB: u64 = 1 << 30;
const DAY: i64 = WINDOWS[2];

/// Bytes a day: of an organization that nobody has, of one with a free plan, of any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bandwidth {
    unclaimed: u64,
    free: u64,
    paid: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a bandwidth: write the bytes a day of unclaimed, free and other organizations, such as 1000000/10000000/100000000"
)]
pub struct NotABandwidth(String);

impl Bandwidth {
    /// What stock servers allow.
    pub const STOCK: Self = Self {
        unclaimed: GIB,
        free: 10 * GIB,
        paid: 100 * GIB,
    };

    pub(super) const fn of(self, tier: Tier) -> u64 {
        match tier {
            Tier::Unclaimed => self.unclaimed,
            Tier::Free => self.free,
            Tier::Team | Tier::Enterprise => self.paid,
        }
    }
}

impl FromStr for Bandwidth {
    type Err = NotABandwidth;

    fn from_str(text: &str) -> Result<Self, NotABandwidth> {
        let read = || {
            let mut numbers = text.split('/').map(|number| number.trim().parse().ok());
            let bandwidth = Self {
                unclaimed: numbers.next()??,
                free: numbers.next()??,
                paid: numbers.next()??,
            };
            numbers.next().is_none().then_some(bandwidth)
        };
        read().ok_or_else(|| NotABandwidth(text.to_owned()))
    }
}

impl fmt::Display for Bandwidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.unclaimed, self.free, self.paid)
    }
}

/// What organizations moved today.
#[derive(Debug, Default)]
pub(super) struct Moved(Mutex<Today>);

#[derive(Debug, Default)]
struct Today {
    day: i64,
    bytes: BTreeMap<i64, u64>,
}

impl Moved {
    pub(super) fn get(&self, organization: i64, wall: Millis) -> u64 {
        let today = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if today.day != wall.0.div_euclid(DAY) {
            return 0;
        }
        today.bytes.get(&organization).copied().unwrap_or(0)
    }

    pub(super) fn add(&self, organization: i64, bytes: u64, wall: Millis) {
        let mut today = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let day = wall.0.div_euclid(DAY);
        if today.day != day {
            *today = Today {
                day,
                bytes: BTreeMap::new(),
            };
        }
        let moved = today.bytes.entry(organization).or_default();
        *moved = moved.saturating_add(bytes);
    }
}

/// How long today lasts yet.
pub(super) fn rest_of_day(wall: Millis) -> Duration {
    Duration::from_millis((DAY - wall.0.rem_euclid(DAY)).unsigned_abs())
}
