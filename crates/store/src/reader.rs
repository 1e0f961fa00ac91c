//! Reads: each on one consistent snapshot of what is committed, on a connection that cannot write.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::engine::{Begin, DynSession, Session};
use crate::kernel_time::KernelTime;
use crate::ledger::pending::Pending;
use crate::ledger::queue::Queue;
use crate::ledger::submit::enqueue;
use crate::ledger::task::{Task, task};
use crate::ledger::worker::{SharedSession, lock};
use crate::{DatabaseErrorKind, Error, Query, Tx};

/// How many reads may wait before their callers do.
const WAITING: usize = 1_024;
/// A read that lost its connection, or met a conflict, is tried this often.
const ATTEMPTS: usize = 3;

/// The way to read. Cheap to clone.
#[derive(Clone)]
pub struct Reader {
    inner: Arc<Inner>,
}

struct Inner {
    mode: Mode,
    time: Arc<KernelTime>,
}

enum Mode {
    Pool {
        queue: Arc<Queue<Box<dyn Task>>>,
        threads: Mutex<Vec<JoinHandle<()>>>,
    },
    /// An in-memory database has one connection, shared with the ledger.
    Shared(SharedSession),
}

impl Reader {
    /// Runs `body` on a snapshot that holds everything acknowledged before this call.
    pub fn read<R, E, F>(&self, mut body: F) -> Pending<R, E>
    where
        F: FnMut(&mut dyn Query) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.read_static(move |tx| body(tx))
    }

    pub(crate) fn pool(
        sessions: Vec<Box<dyn Session>>,
        time: Arc<KernelTime>,
    ) -> Result<Self, Error> {
        let queue = Arc::new(Queue::new(WAITING));
        let mut threads = Vec::new();
        for (number, session) in sessions.into_iter().enumerate() {
            let (queue, time) = (Arc::clone(&queue), Arc::clone(&time));
            let thread = thread::Builder::new()
                .name(format!("kiln-reader-{number}"))
                .spawn(move || serve(&queue, session, &time))
                .map_err(|error| {
                    Error::Refused(format!("cannot start a reader thread: {error}"))
                })?;
            threads.push(thread);
        }
        let mode = Mode::Pool {
            queue,
            threads: Mutex::new(threads),
        };
        Ok(Self {
            inner: Arc::new(Inner { mode, time }),
        })
    }

    pub(crate) fn shared(session: SharedSession, time: Arc<KernelTime>) -> Self {
        Self {
            inner: Arc::new(Inner {
                mode: Mode::Shared(session),
                time,
            }),
        }
    }

    pub(crate) fn close(&self) {
        if let Mode::Pool { queue, threads } = &self.inner.mode {
            queue.close();
            let threads =
                std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
            for thread in threads {
                drop(thread.join());
            }
        }
    }

    /// A read as the kernel wants it: its transaction type has words for writing, which answer errors here.
    pub(crate) fn read_static<R, E, F>(&self, body: F) -> Pending<R, E>
    where
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (task, mut answer) = task(body);
        match &self.inner.mode {
            Mode::Pool { queue, .. } => enqueue(queue, task, answer),
            Mode::Shared(session) => {
                run(lock(session).as_mut(), &self.inner.time, task);
                Pending::ready(
                    answer
                        .try_recv()
                        .unwrap_or_else(|_| Err(E::from(Error::Closed))),
                )
            }
        }
    }
}

fn serve(queue: &Queue<Box<dyn Task>>, mut session: Box<dyn Session>, time: &KernelTime) {
    loop {
        let mut tasks = queue.take(1);
        let Some(task) = tasks.pop() else { break };
        run(session.as_mut(), time, task);
    }
}

/// Runs one read. Whatever happens in it, panics included, the connection comes back clean.
fn run(session: &mut DynSession, time: &KernelTime, mut task: Box<dyn Task>) {
    let mut fate = Ok(());
    for _ in 0..ATTEMPTS {
        fate = attempt(session, time, task.as_mut());
        match &fate {
            Err(Error::Database {
                kind: DatabaseErrorKind::Conflict | DatabaseErrorKind::Io,
                ..
            }) => {}
            _ => break,
        }
    }
    task.answer(fate);
}

fn attempt(session: &mut DynSession, time: &KernelTime, task: &mut dyn Task) -> Result<(), Error> {
    if let Err(error) = session.begin(Begin::Read, time) {
        session.rollback();
        return Err(error);
    }
    task.run(session);
    let lost = !session.in_transaction();
    let failure = session.objection();
    session.rollback();
    match failure {
        Some(error) if lost => Err(error),
        _ => Ok(()),
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Mode::Pool { queue, .. } = &self.mode {
            queue.close();
        }
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
