//! How long a side runs in one round.

use std::time::Duration;

/// Sides take turns, so that a disk or a neighbour that changes its mind meets all of them alike.
pub(crate) const ROUNDS: u32 = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Window {
    /// Run first, and not counted: caches fill, threads start, the log gets its size.
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
}

impl Window {
    /// The share of one round in `total` measured time.
    pub(crate) fn of_a_round(total: Duration) -> Self {
        let measured = total / ROUNDS;
        Self {
            warm_up: measured / 4,
            measured,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_windows_of_all_rounds_make_up_the_total() {
        let window = Window::of_a_round(Duration::from_secs(5));
        assert_eq!(window.measured * ROUNDS, Duration::from_secs(5));
        assert_eq!(window.warm_up, Duration::from_millis(250));
    }
}
