//! A ledger without threads, for the simulator and for tests: each closure at once, on the calling thread, as a batch
//! of one, with a crash wherever the plan wants one.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::batch::{Lost, answer_all, perform};
use super::task::Task;
use super::worker::{SharedSession, lock};
use crate::engine::{Begin, Commit};
use crate::kernel_time::KernelTime;
use crate::{Bells, Error};

/// What a fault plan wants at a crash point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Continue,
    /// The process dies here. The ledger answers [`Error::Closed`] now and ever after.
    Crash,
}

/// Where a simulated process dies. Every commit has two crash points.
pub trait FaultPlan: Send + Sync + fmt::Debug {
    /// A crash here loses the transaction.
    fn before_commit(&self) -> Verdict {
        Verdict::Continue
    }

    /// A crash here keeps the transaction and loses the answer.
    fn after_commit(&self) -> Verdict {
        Verdict::Continue
    }

    /// Sabotage, to show that a checker sees a broken ledger: answers go out before the commit, so that a crash
    /// between the two loses what was acknowledged.
    fn acknowledges_before_commit(&self) -> bool {
        false
    }
}

/// Nothing ever fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl FaultPlan for NoFaults {}

pub(crate) struct Inline {
    session: SharedSession,
    bells: Bells,
    faults: Arc<dyn FaultPlan>,
    closed: AtomicBool,
}

impl Inline {
    pub(crate) fn new(session: SharedSession, bells: Bells, faults: Arc<dyn FaultPlan>) -> Self {
        Self {
            session,
            bells,
            faults,
            closed: AtomicBool::new(false),
        }
    }

    pub(crate) fn run(&self, time: &KernelTime, task: Box<dyn Task>) {
        if self.closed.load(Ordering::Relaxed) {
            return task.answer(Err(Error::Closed));
        }
        let mut session = lock(&self.session);
        let mut tasks = vec![task];
        let alone = |_| Vec::new();
        if let Err(Lost(error)) = perform(session.as_mut(), time, Begin::Write, &mut tasks, alone) {
            return answer_all(tasks, &Err(error));
        }
        let mut answer = Answer(tasks.pop());
        if self.faults.acknowledges_before_commit() {
            answer.give(Ok(()));
        }
        if self.faults.before_commit() == Verdict::Crash {
            session.rollback();
            return self.crash(answer);
        }
        let outcome = session.commit(time);
        let bells = session.take_bells();
        drop(session);
        match outcome {
            Commit::Done if self.faults.after_commit() == Verdict::Crash => self.crash(answer),
            Commit::Done => {
                answer.give(Ok(()));
                self.bells.ring_all(&bells);
            }
            Commit::Failed(error) | Commit::Unresolved(error) => answer.give(Err(error)),
            Commit::Fatal(_) => self.crash(answer),
        }
    }

    /// A clean stop, unless the process has "died" already.
    pub(crate) fn close(&self, time: &KernelTime) {
        if !self.closed.swap(true, Ordering::Relaxed)
            && let Err(error) = lock(&self.session).settle_time(time)
        {
            tracing::warn!(%error, "kernel time was not settled");
        }
    }

    fn crash(&self, mut answer: Answer) {
        self.closed.store(true, Ordering::Relaxed);
        answer.give(Err(Error::Closed));
    }
}

/// An answer that is given once; sabotage gives it too early.
struct Answer(Option<Box<dyn Task>>);

impl Answer {
    fn give(&mut self, fate: Result<(), Error>) {
        if let Some(task) = self.0.take() {
            task.answer(fate);
        }
    }
}
