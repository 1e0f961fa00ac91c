//! Tells many writers at once that their closures are on disk, while the ledger thread goes on with what arrives.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use super::batch::answer_all;
use super::task::Task;
use crate::{Bell, Bells, Error};

/// So few are told faster than another thread is woken.
const FEW: usize = 8;

type Tasks = Vec<Box<dyn Task>>;

pub(crate) struct Teller {
    bells: Bells,
    news: Option<SyncSender<News>>,
    thread: Option<JoinHandle<()>>,
    telling: Arc<AtomicBool>,
}

struct News {
    tasks: Tasks,
    bells: Vec<Bell>,
}

impl Teller {
    pub(crate) fn spawn(number: usize, bells: Bells) -> Result<Self, Error> {
        // One batch is told while the next one is written.
        let (news, heard) = mpsc::sync_channel(1);
        let telling = Arc::new(AtomicBool::new(false));
        let thread = thread::Builder::new()
            .name(format!("kiln-teller-{number}"))
            .spawn({
                let (bells, telling) = (bells.clone(), Arc::clone(&telling));
                move || tell_all(&heard, &bells, &telling)
            })
            .map_err(|error| Error::Refused(format!("cannot start a ledger thread: {error}")))?;
        Ok(Self {
            bells,
            news: Some(news),
            thread: Some(thread),
            telling,
        })
    }

    /// Answers everyone who waited for the commit, then rings.
    pub(crate) fn tell(&self, tasks: Tasks, bells: Vec<Bell>) {
        let news = News { tasks, bells };
        match &self.news {
            Some(thread) if news.tasks.len() > FEW => {
                self.telling.store(true, Ordering::Release);
                if let Err(unsent) = thread.send(news) {
                    self.telling.store(false, Ordering::Release);
                    unsent.0.tell(&self.bells);
                }
            }
            _ => news.tell(&self.bells),
        }
    }

    /// Whether someone is still to be told, and may then come with the next closure at once.
    pub(crate) fn is_telling(&self) -> bool {
        self.telling.load(Ordering::Acquire)
    }
}

impl News {
    fn tell(self, bells: &Bells) {
        answer_all(self.tasks, &Ok(()));
        bells.ring_all(&self.bells);
    }
}

fn tell_all(heard: &Receiver<News>, bells: &Bells, telling: &AtomicBool) {
    while let Ok(news) = heard.recv() {
        news.tell(bells);
        telling.store(false, Ordering::Release);
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.news = None;
        if let Some(thread) = self.thread.take() {
            // It tells what it has first. Were it to panic, whoever was not told finds the answer's sender gone.
            drop(thread.join());
        }
    }
}
