//! Tells many writers at once that their closures are on disk, while the ledger thread goes on with what arrives.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::batch::answer_all;
use super::task::Task;
use crate::{Bell, Bells, Error};

/// So few are told faster than another thread is woken.
const FEW: usize = 8;

type Tasks = Vec<Box<dyn Task>>;

pub(crate) struct Teller {
    bells: Bells,
    untold: Arc<Untold>,
    /// What rings when a batch has been told.
    told: Option<SyncSender<Vec<Bell>>>,
    thread: Option<JoinHandle<()>>,
}

/// Those who are still to be told, by whoever has the time.
#[derive(Default)]
struct Untold {
    tasks: Mutex<VecDeque<Box<dyn Task>>>,
    telling: AtomicBool,
}

impl Teller {
    pub(crate) fn spawn(number: usize, bells: Bells) -> Result<Self, Error> {
        // One batch is told while the next one is written.
        let (told, heard) = mpsc::sync_channel(1);
        let untold = Arc::new(Untold::default());
        let thread = thread::Builder::new()
            .name(format!("kiln-teller-{number}"))
            .spawn({
                let (bells, untold) = (bells.clone(), Arc::clone(&untold));
                move || tell_all(&heard, &bells, &untold)
            })
            .map_err(|error| Error::Refused(format!("cannot start a ledger thread: {error}")))?;
        Ok(Self {
            bells,
            untold,
            told: Some(told),
            thread: Some(thread),
        })
    }

    /// Answers everyone who waited for the commit, then rings.
    pub(crate) fn tell(&self, tasks: Tasks, bells: Vec<Bell>) {
        if tasks.len() <= FEW {
            answer_all(tasks, &Ok(()));
            return self.bells.ring_all(&bells);
        }
        self.untold.add(tasks);
        let unsent = match &self.told {
            Some(thread) => thread.send(bells).err(),
            None => Some(mpsc::SendError(bells)),
        };
        if let Some(mpsc::SendError(bells)) = unsent {
            self.untold.tell(&self.bells, &bells);
        }
    }

    /// Tells one of those who are still to be told.
    pub(crate) fn tell_one(&self) {
        self.untold.tell_one();
    }

    /// Whether someone is still to be told, and may then come with the next closure at once.
    pub(crate) fn is_telling(&self) -> bool {
        self.untold.telling.load(Ordering::Acquire)
    }
}

impl Untold {
    fn add(&self, tasks: Tasks) {
        self.telling.store(true, Ordering::Release);
        let mut untold = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        untold.extend(tasks);
    }

    fn tell(&self, bells: &Bells, due: &[Bell]) {
        while self.tell_one() {}
        bells.ring_all(due);
        self.telling.store(false, Ordering::Release);
    }

    /// Whether there was one.
    fn tell_one(&self) -> bool {
        let mut untold = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let first = untold.pop_front();
        drop(untold);
        first.map(|task| task.answer(Ok(()))).is_some()
    }
}

fn tell_all(heard: &Receiver<Vec<Bell>>, bells: &Bells, untold: &Untold) {
    while let Ok(due) = heard.recv() {
        untold.tell(bells, &due);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.told = None;
        if let Some(thread) = self.thread.take() {
            // It tells what it has first. Were it to panic, whoever was not told finds the answer's sender gone.
            drop(thread.join());
        }
    }
}
