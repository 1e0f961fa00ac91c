//! What the numbers were measured on, and who else was using it.

use std::fs;
use std::thread;

use serde::Serialize;

use crate::failure::Failure;

const LOAD: &str = "/proc/loadavg";

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cores: usize,
    pub(crate) load_before: Load,
    pub(crate) load_after: Load,
    /// By how much every fsync was slower than this machine's own.
    pub(crate) slow_fsync_ms: Option<f64>,
}

/// How many threads wanted to run, averaged over the last minutes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Load {
    pub(crate) one_minute: f64,
    pub(crate) five_minutes: f64,
}

impl Load {
    pub(crate) fn now() -> Result<Self, Failure> {
        let text = fs::read_to_string(LOAD)
            .map_err(|source| Failure::io(format!("read {LOAD}"), source))?;
        Self::parse(&text).ok_or_else(|| Failure::Wrong(format!("{LOAD} holds {text:?}")))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut averages = text.split_whitespace().map(str::parse);
        Some(Self {
            one_minute: averages.next()?.ok()?,
            five_minutes: averages.next()?.ok()?,
        })
    }
}

pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_averages_are_read() {
        let expected = Load {
            one_minute: 2.38,
            five_minutes: 3.22,
        };
        assert_eq!(Load::parse("2.38 3.22 2.54 3/138 22510\n"), Some(expected));
    }

    #[test]
    fn anything_else_is_not_a_load() {
        assert_eq!(Load::parse(""), None);
        assert_eq!(Load::parse("2.38 high"), None);
    }
}
