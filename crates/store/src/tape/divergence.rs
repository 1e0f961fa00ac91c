//! Where a recording and the code of today part.

use std::fmt;

/// The first thing that came out differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// The line of the recording, counted from 1.
    pub line: u64,
    /// The step that was under way, counted from 1.
    pub step: u64,
    pub recorded: String,
    pub found: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            step,
            recorded,
            found,
        } = self;
        write!(
            f,
            "step {step} (line {line}) diverges\n  recorded: {recorded}\n  now:      {found}"
        )
    }
}
