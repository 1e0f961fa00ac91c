//! So many a minute, an hour and a day.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use kiln_model::Millis;

/// The three windows, in milliseconds. They begin at full minutes, hours and days of the wall clock.
pub(super) const WINDOWS: [i64; 3] = [60_000, 3_600_000, 86_400_000];
const NAMES: [&str; 3] = ["a minute", "an hour", "a day"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate([u32; 3]);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a rate: write how many a minute, an hour and a day, such as 60/600/6000")]
pub struct NotARate(String);

impl Rate {
    pub const fn new(minute: u32, hour: u32, day: u32) -> Self {
        Self([minute, hour, day])
    }

    /// The first window with no room: how many it allows, its name, and how long it lasts yet.
    pub(super) fn exceeded_by(
        self,
        counts: &[u32; 3],
        wall: Millis,
    ) -> Option<(u32, &'static str, Duration)> {
        let full = (0..WINDOWS.len())
            .rev()
            .find(|window| counts[*window] >= self.0[*window])?;
        let left = WINDOWS[full] - wall.0.rem_euclid(WINDOWS[full]);
        let again = Duration::from_millis(left.unsigned_abs());
        Some((self.0[full], NAMES[full], again))
    }
}

impl FromStr for Rate {
    type Err = NotARate;

    fn from_str(text: &str) -> Result<Self, NotARate> {
        let read = || {
            let mut numbers = text.split('/').map(|number| number.trim().parse().ok());
            let rate = Self([numbers.next()??, numbers.next()??, numbers.next()??]);
            numbers.next().is_none().then_some(rate)
        };
        read().ok_or_else(|| NotARate(text.to_owned()))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [minute, hour, day] = self.0;
        write!(f, "{minute}/{hour}/{day}")
    }
}
