//! Where a replay and its log part.

use std::fmt;

use super::LogError;
use super::format::Logged;
use crate::Status;
use crate::runner::Disposition;

/// What a replay found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// How many steps did what the log says.
    pub steps: u64,
    /// The first that did not; the replay ends there.
    pub divergence: Option<Divergence>,
    /// Why the log itself ended early.
    pub log: Option<LogError>,
}

/// The first step that came out differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Counted from 1.
    pub step: u64,
    /// What differs: `result`, `disposition`, `changes`, or `dispatch` when the step did not run at all.
    pub what: &'static str,
    pub expected: String,
    pub found: String,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            step,
            what,
            expected,
            found,
        } = self;
        write!(f, "step {step}: {what} was {expected} and is now {found}")
    }
}

pub(super) fn compare(step: u64, expected: &Logged, found: &Logged) -> Option<Divergence> {
    let differs = |what, expected: String, found: String| {
        (expected != found).then_some(Divergence {
            step,
            what,
            expected,
            found,
        })
    };
    // A store that cannot tell its changes, then or now, says nothing about them.
    let changes = expected
        .changes
        .zip(found.changes)
        .and_then(|(expected, found)| {
            differs(
                "changes",
                format!("{expected:032x}"),
                format!("{found:032x}"),
            )
        });
    differs("result", expected.code.to_string(), found.code.to_string())
        .or_else(|| {
            differs(
                "disposition",
                told(expected.disposition),
                told(found.disposition),
            )
        })
        .or(changes)
}

pub(super) fn not_dispatched(step: u64, why: &Status) -> Divergence {
    Divergence {
        step,
        what: "dispatch",
        expected: "a step".into(),
        found: why.to_string(),
    }
}

/// The disposition without the sequence, which depends on what else arrived.
fn told(disposition: Disposition) -> String {
    match disposition {
        Disposition::Acked => "acked".into(),
        Disposition::Repeated => "acked as a repetition".into(),
        Disposition::Requeued { failures, .. } => format!("requeued after {failures} failures"),
        Disposition::DeadLettered { failures, .. } => {
            format!("dead-lettered after {failures} failures")
        }
        Disposition::Kept => "kept in place".into(),
    }
}
