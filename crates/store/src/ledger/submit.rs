//! Handing closures to the ledger.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use kiln_model::Millis;
use tokio::sync::oneshot;

use super::fatal::Fatal;
#[cfg(any(test, feature = "testing"))]
use super::inline::Inline;
use super::pending::Pending;
use super::queue::{Queue, Refusal};
use super::task::{Task, task};
use super::worker::{SharedSession, Worker};
use crate::kernel_time::KernelTime;
use crate::{Bells, Error, Reader, Tx};

/// How many closures may wait. More than a few batches: a burst is absorbed, a flood is held back at its source.
const WAITING: usize = 4_096;

/// The one way to write. Cheap to clone.
#[derive(Clone)]
pub struct Ledger {
    inner: Arc<Inner>,
}

struct Inner {
    mode: Mode,
    time: Arc<KernelTime>,
    reader: Reader,
    fatal: Fatal,
}

enum Mode {
    Threads {
        queue: Arc<Queue<Box<dyn Task>>>,
        threads: Mutex<Vec<JoinHandle<()>>>,
    },
    #[cfg(any(test, feature = "testing"))]
    Inline(Inline),
}

/// What the ledger threads work with.
pub(crate) struct Parts {
    pub(crate) sessions: Vec<SharedSession>,
    pub(crate) time: Arc<KernelTime>,
    pub(crate) reader: Reader,
    pub(crate) bells: Bells,
    pub(crate) batch_limit: usize,
}

impl Ledger {
    /// Runs `body` in a transaction, with others, and answers when it is committed.
    ///
    /// When `body` answers an error, or panics, what it did is undone and nothing else is. It may be run more than
    /// once, so it must have no effect outside the transaction.
    pub fn submit<R, E, F>(&self, mut body: F) -> Pending<R, E>
    where
        F: FnMut(&mut dyn Tx) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        self.submit_static(move |tx| body(tx))
    }

    /// Kernel time, without a transaction.
    pub fn now(&self) -> Millis {
        self.inner.time.now()
    }

    /// The host's wall clock, for the record only.
    pub fn wall(&self) -> Millis {
        self.inner.time.wall()
    }

    /// How many transactions were committed since the store was opened. Most carry more than one closure.
    pub fn commits(&self) -> u64 {
        self.inner.time.commits()
    }

    /// The news that the ledger cannot go on; see [`Fatal::stopped`].
    pub fn fatal(&self) -> &Fatal {
        &self.inner.fatal
    }

    /// Commits what is waiting, refuses what comes later, and ends the threads. Blocks until that is done.
    pub fn close(&self) {
        match &self.inner.mode {
            Mode::Threads { queue, threads } => {
                queue.close();
                let threads =
                    std::mem::take(&mut *threads.lock().unwrap_or_else(PoisonError::into_inner));
                for thread in threads {
                    // A thread that panicked has reported it as fatal.
                    drop(thread.join());
                }
            }
            #[cfg(any(test, feature = "testing"))]
            Mode::Inline(inline) => inline.close(&self.inner.time),
        }
    }

    pub(crate) fn start(parts: Parts) -> Result<Self, Error> {
        let queue = Arc::new(Queue::new(WAITING));
        let fatal = Fatal::new();
        let mut threads = Vec::new();
        for (number, session) in parts.sessions.into_iter().enumerate() {
            let worker = Worker {
                session,
                queue: Arc::clone(&queue),
                time: Arc::clone(&parts.time),
                bells: parts.bells.clone(),
                fatal: fatal.clone(),
                batch_limit: parts.batch_limit,
            };
            threads.push(worker.spawn(number)?);
        }
        let mode = Mode::Threads {
            queue,
            threads: Mutex::new(threads),
        };
        Ok(Self {
            inner: Arc::new(Inner {
                mode,
                time: parts.time,
                reader: parts.reader,
                fatal,
            }),
        })
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn start_inline(inline: Inline, time: Arc<KernelTime>, reader: Reader) -> Self {
        let mode = Mode::Inline(inline);
        Self {
            inner: Arc::new(Inner {
                mode,
                time,
                reader,
                fatal: Fatal::new(),
            }),
        }
    }

    pub(crate) fn reader(&self) -> &Reader {
        &self.inner.reader
    }

    pub(crate) fn submit_static<R, E, F>(&self, body: F) -> Pending<R, E>
    where
        F: FnMut(&mut (dyn Tx + 'static)) -> Result<R, E> + Send + 'static,
        R: Send + 'static,
        E: From<Error> + Send + 'static,
    {
        let (task, answer) = task(body);
        match &self.inner.mode {
            Mode::Threads { queue, .. } => enqueue(queue, task, answer),
            #[cfg(any(test, feature = "testing"))]
            Mode::Inline(inline) => {
                inline.run(&self.inner.time, task);
                let mut answer = answer;
                Pending::ready(
                    answer
                        .try_recv()
                        .unwrap_or_else(|_| Err(E::from(Error::Closed))),
                )
            }
        }
    }
}

/// Gives the task a place at once when there is one, and otherwise as soon as the caller waits for it.
pub(crate) fn enqueue<R, E>(
    queue: &Arc<Queue<Box<dyn Task>>>,
    task: Box<dyn Task>,
    answer: oneshot::Receiver<Result<R, E>>,
) -> Pending<R, E>
where
    R: Send + 'static,
    E: From<Error> + Send + 'static,
{
    let received = async move { answer.await.unwrap_or_else(|_| Err(E::from(Error::Closed))) };
    match queue.try_push(task) {
        Ok(()) => Pending::later(received),
        Err(Refusal::Closed(_)) => Pending::ready(Err(E::from(Error::Closed))),
        Err(Refusal::Full(task)) => {
            let queue = Arc::clone(queue);
            Pending::later(async move {
                if queue.push(task).await.is_err() {
                    return Err(E::from(Error::Closed));
                }
                received.await
            })
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The threads hold the queue, not this; without a caller left they finish what is waiting and end.
        match &self.mode {
            Mode::Threads { queue, .. } => queue.close(),
            #[cfg(any(test, feature = "testing"))]
            Mode::Inline(_) => {}
        }
    }
}

impl fmt::Debug for Ledger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ledger")
            .field("now", &self.now())
            .finish_non_exhaustive()
    }
}
