//! A ledger thread: it owns a connection and turns what is waiting into transactions.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::batch::{self, Outcome};
use super::fatal::Fatal;
use super::queue::Queue;
use super::task::Task;
use super::teller::Teller;
use crate::engine::{Commit, Session};
use crate::kernel_time::KernelTime;
use crate::{Bells, Error};

/// A connection that is used by one at a time. Only an in-memory database shares it with its readers.
pub(crate) type SharedSession = Arc<Mutex<Box<dyn Session>>>;

pub(crate) struct Worker {
    pub(crate) session: SharedSession,
    pub(crate) queue: Arc<Queue<Box<dyn Task>>>,
    pub(crate) time: Arc<KernelTime>,
    pub(crate) bells: Bells,
    pub(crate) fatal: Fatal,
    pub(crate) batch_limit: usize,
}

impl Worker {
    pub(crate) fn spawn(self, number: usize) -> Result<JoinHandle<()>, Error> {
        let teller = Teller::spawn(number, self.bells.clone())?;
        thread::Builder::new()
            .name(format!("kiln-ledger-{number}"))
            .spawn(move || self.work(&teller))
            .map_err(|error| Error::Refused(format!("cannot start a ledger thread: {error}")))
    }

    fn work(self, teller: &Teller) {
        let alarm = Alarm(&self);
        let mut pace = Pace::default();
        loop {
            let tasks = self.queue.take(self.batch_limit);
            if tasks.is_empty() {
                break;
            }
            let began = self.time.now();
            let more = |taken| {
                let mut tasks = self.gather(teller, self.batch_limit.saturating_sub(taken));
                if tasks.is_empty() && taken < pace.closures {
                    let spent = self.time.now().since(began);
                    tasks = self
                        .queue
                        .take_soon(pace.closures - taken, pace.patience(spent));
                }
                tasks
            };
            let outcome = batch::run(lock(&self.session).as_mut(), &self.time, tasks, more);
            match outcome {
                Outcome::Committed { tasks, bells } => {
                    pace = Pace {
                        closures: tasks.len(),
                        took: self.time.now().since(began),
                    };
                    teller.tell(tasks, bells);
                }
                Outcome::Answered { bells } => self.bells.ring_all(&bells),
                Outcome::Fatal(error) => return self.stop(error),
            }
            match lock(&self.session).tidy() {
                Commit::Done => {}
                Commit::Failed(error) | Commit::Unresolved(error) => {
                    tracing::warn!(%error, "the write-ahead log could not be copied back; it grows until it can");
                }
                Commit::Fatal(error) => return self.stop(error),
            }
        }
        if let Err(error) = lock(&self.session).settle_time(&self.time) {
            tracing::warn!(%error, "kernel time was not settled; it skips ahead a little at the next start");
        }
        drop(alarm);
    }

    /// What has arrived meanwhile. Whoever is being told comes with the next closure at once, and is waited for so that it shares
    /// this commit: awake, since they come one by one, and to fall asleep between them takes longer than that. Who was told last
    /// gets a turn before the commit.
    fn gather(&self, teller: &Teller, room: usize) -> Vec<Box<dyn Task>> {
        loop {
            let everyone_was_told = !teller.is_telling();
            let tasks = self.queue.take_ready(room);
            if room == 0 || !tasks.is_empty() {
                return tasks;
            }
            teller.tell_one();
            thread::yield_now();
            if everyone_was_told {
                return self.queue.take_ready(room);
            }
        }
    }

    /// Answers everyone, and lets the process know that it must end.
    fn stop(&self, error: Error) {
        tracing::error!(%error, "an fsync failed: the ledger stops, and only a restart finds out what is on disk");
        self.queue.close();
        loop {
            let tasks = self.queue.take(usize::MAX);
            if tasks.is_empty() {
                break;
            }
            for task in tasks {
                task.answer(Err(Error::Closed));
            }
        }
        self.fatal.report(error);
    }
}

pub(crate) fn lock(session: &SharedSession) -> MutexGuard<'_, Box<dyn Session>> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A transaction that waits for others may hold locks that others wait for.
const MOST_PATIENCE: Duration = Duration::from_millis(2);

/// How the last commit went. As many as shared it are likely to come again, if not quite at once: where a commit takes long,
/// to miss one costs them more than to wait for them a little costs the others.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    closures: usize,
    took: Duration,
}

impl Pace {
    /// How long to wait for the next, after so long.
    fn patience(self, spent: Duration) -> Duration {
        let whole = (self.took / 4).min(MOST_PATIENCE);
        whole.saturating_sub(spent).min(whole / 2)
    }
}

/// A panic in the ledger's own code is a bug; it must not leave callers waiting for ever.
struct Alarm<'a>(&'a Worker);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop(Error::Panicked {
                message: "the ledger thread itself".into(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_is_a_part_of_what_a_commit_takes_and_ends() {
        let pace = Pace {
            closures: 8,
            took: Duration::from_millis(8),
        };
        let patience = |spent| pace.patience(Duration::from_micros(spent)).as_micros();
        assert_eq!([0, 1_500, 2_000, 3_000].map(patience), [1_000, 500, 0, 0]);
        let slow = Pace {
            took: Duration::from_secs(9),
            ..pace
        };
        assert_eq!(slow.patience(Duration::ZERO), MOST_PATIENCE / 2);
    }

    #[test]
    fn nobody_is_waited_for_where_a_commit_takes_no_time() {
        assert_eq!(Pace::default().patience(Duration::ZERO), Duration::ZERO);
    }
}
