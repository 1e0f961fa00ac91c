//! What is waiting becomes one transaction: each closure in a frame of its own, one commit for all.

use super::task::Task;
use crate::engine::{Begin, Commit, DynSession, Left};
use crate::kernel_time::KernelTime;
use crate::{Bell, DatabaseErrorKind, Error};

/// How often a closure is run alone after its batch was lost, before its caller is told.
const ATTEMPTS: usize = 5;

/// What a batch leads to.
pub(crate) enum Outcome {
    /// All of it is on disk, and those who wait for it are still to be told.
    Committed {
        tasks: Vec<Box<dyn Task>>,
        bells: Vec<Bell>,
    },
    /// Everyone has been told already. The bells are those of what was committed.
    Answered { bells: Vec<Bell> },
    /// An fsync failed. Nobody is acknowledged, and no transaction may follow.
    Fatal(Error),
}

/// Runs the closures, and whatever `more` has when they are done, until it has nothing; then commits.
pub(crate) fn run(
    session: &mut DynSession,
    time: &KernelTime,
    mut tasks: Vec<Box<dyn Task>>,
    more: impl Fn(usize) -> Vec<Box<dyn Task>>,
) -> Outcome {
    let performed = perform(session, time, Begin::Write, &mut tasks, more);
    match performed.map(|()| session.commit(time)) {
        Ok(Commit::Done) => Outcome::Committed {
            tasks,
            bells: session.take_bells(),
        },
        Ok(Commit::Failed(error)) if error.is_conflict() => run_alone(session, time, tasks),
        Ok(Commit::Failed(error) | Commit::Unresolved(error)) => {
            answer_all(tasks, &Err(error));
            Outcome::Answered { bells: Vec::new() }
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

/// Begins, runs each closure in a frame of its own, and whatever `more` has after them; stops before the commit.
pub(crate) fn perform(
    session: &mut DynSession,
    time: &KernelTime,
    begin: Begin,
    tasks: &mut Vec<Box<dyn Task>>,
    more: impl Fn(usize) -> Vec<Box<dyn Task>>,
) -> Result<(), Lost> {
    loop {
        let began = session.begin(begin, time);
        match began.and_then(|()| perform_each(session, time, tasks, &more)) {
            Ok(Left::Closed) => return Ok(()),
            // They run again, and the session keeps them apart this time.
            Ok(Left::Entangled) => session.rollback(),
            Err(error) => {
                session.rollback();
                return Err(Lost(error));
            }
        }
    }
}

fn perform_each(
    session: &mut DynSession,
    time: &KernelTime,
    tasks: &mut Vec<Box<dyn Task>>,
    more: impl Fn(usize) -> Vec<Box<dyn Task>>,
) -> Result<Left, Error> {
    let mut done = 0;
    while done < tasks.len() {
        for task in &mut tasks[done..] {
            if perform_one(session, time, task.as_mut())? == Left::Entangled {
                return Ok(Left::Entangled);
            }
        }
        done = tasks.len();
        tasks.extend(more(done));
    }
    Ok(Left::Closed)
}

fn perform_one(
    session: &mut DynSession,
    time: &KernelTime,
    task: &mut dyn Task,
) -> Result<Left, Error> {
    session.enter(time)?;
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
    let left = session.leave(wanted && objection.is_none())?;
    if let (true, Some(error)) = (wanted, objection) {
        task.overrule(error);
    }
    Ok(left)
}

/// Runs each closure in a transaction of its own, so that one that cannot succeed takes no other down with it.
fn run_alone(session: &mut DynSession, time: &KernelTime, tasks: Vec<Box<dyn Task>>) -> Outcome {
    let mut bells = Vec::new();
    let mut tasks = tasks.into_iter();
    while let Some(task) = tasks.next() {
        match run_one(session, time, task) {
            Ok(rung) => bells.extend(rung),
            Err(error) => {
                tasks.for_each(|task| task.answer(Err(Error::Closed)));
                return Outcome::Fatal(error);
            }
        }
    }
    Outcome::Answered { bells }
}

/// Answers the task, and returns its bells or a failed fsync.
fn run_one(
    session: &mut DynSession,
    time: &KernelTime,
    task: Box<dyn Task>,
) -> Result<Vec<Bell>, Error> {
    let mut task = vec![task];
    let mut failure = Error::Closed;
    for _ in 0..ATTEMPTS {
        let performed = perform(session, time, Begin::Again, &mut task, |_| Vec::new());
        failure = match performed.map(|()| session.commit(time)) {
            Ok(Commit::Done) => {
                let bells = session.take_bells();
                answer_all(task, &Ok(()));
                return Ok(bells);
            }
            Ok(Commit::Fatal(error)) => {
                answer_all(task, &Err(Error::Closed));
                return Err(error);
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
    Ok(Vec::new())
}

pub(crate) fn answer_all(tasks: impl IntoIterator<Item = Box<dyn Task>>, fate: &Result<(), Error>) {
    tasks.into_iter().for_each(|task| task.answer(fate.clone()));
}
