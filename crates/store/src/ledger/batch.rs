//! What is waiting becomes one transaction: each closure in a savepoint, one commit for all.

use super::task::Task;
use crate::engine::{Begin, Commit, DynSession};
use crate::kernel_time::KernelTime;
use crate::{Bell, DatabaseErrorKind, Error};

/// How often a closure is run alone after its batch was lost, before its caller is told.
const ATTEMPTS: usize = 5;

/// What a batch leads to, besides the answers.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// The bells of what was committed.
    Answered(Vec<Bell>),
    /// An fsync failed. Nobody is acknowledged, and no transaction may follow.
    Fatal(Error),
}

/// Runs the closures, commits, and answers each of them.
pub(crate) fn run(
    session: &mut DynSession,
    time: &KernelTime,
    mut tasks: Vec<Box<dyn Task>>,
) -> Outcome {
    match attempt(session, time, &mut tasks, Begin::Write) {
        Ok(Commit::Done) => {
            let bells = session.take_bells();
            answer_all(tasks, &Ok(()));
            Outcome::Answered(bells)
        }
        Ok(Commit::Failed(error)) if error.is_conflict() => run_alone(session, time, tasks),
        Ok(Commit::Failed(error) | Commit::Unresolved(error)) => {
            answer_all(tasks, &Err(error));
            Outcome::Answered(Vec::new())
        }
        Ok(Commit::Fatal(error)) => {
            answer_all(tasks, &Err(Error::Closed));
            Outcome::Fatal(error)
        }
        Err(Lost(error)) => {
            tracing::warn!(%error, closures = tasks.len(), "a batch lost its transaction; its closures run again, each alone");
            run_alone(session, time, tasks)
        }
    }
}

/// The whole transaction is gone, with every closure that ran in it.
#[derive(Debug)]
pub(crate) struct Lost(pub(crate) Error);

/// Begins, runs each closure in a frame of its own, and stops before the commit.
pub(crate) fn perform(
    session: &mut DynSession,
    time: &KernelTime,
    tasks: &mut [Box<dyn Task>],
    begin: Begin,
) -> Result<(), Lost> {
    let outcome = session.begin(begin, time).and_then(|()| {
        tasks
            .iter_mut()
            .try_for_each(|task| perform_one(session, task.as_mut()))
    });
    outcome.map_err(|error| {
        session.rollback();
        Lost(error)
    })
}

fn perform_one(session: &mut DynSession, task: &mut dyn Task) -> Result<(), Error> {
    session.enter()?;
    let wanted = task.run(session);
    let objection = session.objection();
    if !session.in_transaction() {
        return Err(objection.unwrap_or_else(|| {
            Error::database(
                DatabaseErrorKind::Other,
                "the database ended the transaction",
            )
        }));
    }
    session.leave(wanted && objection.is_none())?;
    if let (true, Some(error)) = (wanted, objection) {
        task.overrule(error);
    }
    Ok(())
}

fn attempt(
    session: &mut DynSession,
    time: &KernelTime,
    tasks: &mut [Box<dyn Task>],
    begin: Begin,
) -> Result<Commit, Lost> {
    perform(session, time, tasks, begin)?;
    Ok(session.commit(time))
}

/// Runs each closure in a transaction of its own, so that one that cannot succeed takes no other down with it.
fn run_alone(session: &mut DynSession, time: &KernelTime, tasks: Vec<Box<dyn Task>>) -> Outcome {
    let mut bells = Vec::new();
    let mut tasks = tasks.into_iter();
    while let Some(task) = tasks.next() {
        match run_one(session, time, task) {
            Outcome::Answered(rung) => bells.extend(rung),
            Outcome::Fatal(error) => {
                tasks.for_each(|task| task.answer(Err(Error::Closed)));
                return Outcome::Fatal(error);
            }
        }
    }
    Outcome::Answered(bells)
}

fn run_one(session: &mut DynSession, time: &KernelTime, task: Box<dyn Task>) -> Outcome {
    let mut task = [task];
    let mut failure = Error::Closed;
    for _ in 0..ATTEMPTS {
        failure = match attempt(session, time, &mut task, Begin::Again) {
            Ok(Commit::Done) => {
                let bells = session.take_bells();
                answer_all(task, &Ok(()));
                return Outcome::Answered(bells);
            }
            Ok(Commit::Fatal(error)) => {
                answer_all(task, &Err(Error::Closed));
                return Outcome::Fatal(error);
            }
            Ok(Commit::Failed(error)) | Err(Lost(error)) => error,
            Ok(Commit::Unresolved(error)) => {
                failure = error;
                break;
            }
        };
        if !failure.is_conflict() {
            break;
        }
    }
    answer_all(task, &Err(failure));
    Outcome::Answered(Vec::new())
}

fn answer_all(tasks: impl IntoIterator<Item = Box<dyn Task>>, fate: &Result<(), Error>) {
    tasks.into_iter().for_each(|task| task.answer(fate.clone()));
}
