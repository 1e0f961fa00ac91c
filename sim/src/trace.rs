//! What happened, as lines for people and as a hash for comparing two runs.

use std::collections::VecDeque;
use std::fmt::{self, Write as _};

/// How many lines a failure shows.
const TAIL: usize = 40;

#[derive(Debug)]
pub(crate) struct Trace {
    hash: u64,
    lines: VecDeque<String>,
    keep_all: bool,
}

impl Trace {
    pub(crate) const fn new(keep_all: bool) -> Self {
        Self {
            hash: 0xcbf2_9ce4_8422_2325,
            lines: VecDeque::new(),
            keep_all,
        }
    }

    pub(crate) fn line(&mut self, time: i64, what: fmt::Arguments<'_>) {
        let mut line = String::new();
        write!(line, "{:>9.3}s  {what}", Seconds(time)).expect("a string takes everything");
        // FNV-1a: stable across builds, unlike the standard library's hashers.
        for byte in line.bytes() {
            self.hash = (self.hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        if !self.keep_all && self.lines.len() == TAIL {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(crate) const fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn into_lines(self) -> Vec<String> {
        self.lines.into()
    }
}

/// Milliseconds, shown as seconds.
struct Seconds(i64);

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:03}", self.0 / 1000, self.0 % 1000);
        f.pad_integral(true, "", &text)
    }
}
