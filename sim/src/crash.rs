//! When the simulated process dies at a commit.

use std::sync::Mutex;
use std::sync::PoisonError;

use kiln_store::testing::{FaultPlan, Verdict};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CrashPoint {
    /// The transaction rolls back.
    Before,
    /// It is committed, and its answer is lost.
    After,
}

/// The crash points of one world. Every commit asks here.
#[derive(Debug, Default)]
pub(crate) struct CrashPlan {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    commits: u64,
    /// Commits to let pass, and where to die in the one after them.
    armed: Option<(u64, CrashPoint)>,
    crashed: bool,
    /// Sabotage: acknowledge the commit under way before it is made.
    acknowledge_early: bool,
}

impl CrashPlan {
    /// Dies at a commit once so many more have passed.
    pub(crate) fn arm(&self, commits: u64, point: CrashPoint) {
        self.with(|state| state.armed = Some((commits, point)));
    }

    pub(crate) fn disarm(&self) {
        self.with(|state| {
            state.armed = None;
            state.crashed = false;
        });
    }

    pub(crate) fn has_crashed(&self) -> bool {
        self.with(|state| state.crashed)
    }

    /// How many transactions came to their end: nothing changes while this does not.
    pub(crate) fn commits(&self) -> u64 {
        self.with(|state| state.commits)
    }

    pub(crate) fn acknowledge_early(&self, early: bool) {
        self.with(|state| state.acknowledge_early = early);
    }

    fn with<R>(&self, look: impl FnOnce(&mut State) -> R) -> R {
        look(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl State {
    fn verdict(&mut self, point: CrashPoint) -> Verdict {
        match self.armed {
            Some((0, armed)) if armed == point => {
                self.armed = None;
                self.crashed = true;
                Verdict::Crash
            }
            _ => Verdict::Continue,
        }
    }
}

impl FaultPlan for CrashPlan {
    fn before_commit(&self) -> Verdict {
        self.with(|state| {
            state.commits += 1;
            state.verdict(CrashPoint::Before)
        })
    }

    fn after_commit(&self) -> Verdict {
        self.with(|state| {
            let verdict = state.verdict(CrashPoint::After);
            if let Some((left, _)) = &mut state.armed {
                *left = left.saturating_sub(1);
            }
            verdict
        })
    }

    fn acknowledges_before_commit(&self) -> bool {
        self.with(|state| state.acknowledge_early)
    }
}
