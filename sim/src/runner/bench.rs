//! A runner of the bench channel.

use std::collections::VecDeque;

use kiln_model::v0::UploadProgress;

use super::{Act, PULSE, Plan, Wake};
use crate::rng::Rng;
use crate::wire::{Assignment, Down, Ending, LastWord, Up, UploadStep};

/// Of an output that is uploaded.
const CHUNK: usize = 16;

/// Pulses without an answer to a last word before the runner tries another connection.
const PATIENCE: u32 = 2;

#[derive(Debug, Default)]
pub(crate) struct BenchRunner {
    link: Link,
    work: Option<Work>,
    /// A `ready` is out, and neither a job nor `no_job` has come.
    asked: bool,
    /// What the words said on this connection wait for, in order: the acknowledgement of a heartbeat names the job just
    /// like that of a result, so only their order tells them apart.
    expected: VecDeque<Expected>,
    /// How much of the first result's output the server has, as far as this connection knows; all of it is one more.
    uploaded: usize,
    impatience: u32,
    disk: Disk,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Link {
    #[default]
    Down,
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Word,
    Upload,
    Last(i64),
}

#[derive(Debug)]
struct Work {
    job: Assignment,
    running: bool,
    plan: Plan,
}

/// What a crash does not take.
#[derive(Debug, Default)]
struct Disk {
    spool: VecDeque<LastWord>,
    held: Option<Assignment>,
}

impl BenchRunner {
    /// Starts, or starts again: only the disk remembers anything.
    pub(crate) fn boot(&mut self, acts: &mut Vec<Act>) {
        let disk = std::mem::take(&mut self.disk);
        *self = Self {
            disk,
            ..Self::default()
        };
        acts.push(Act::Wake(0, Wake::Pulse));
    }

    pub(crate) fn wake(&mut self, wake: Wake, rng: &mut Rng, acts: &mut Vec<Act>) {
        match wake {
            Wake::Pulse => {
                self.pulse(rng, acts);
                acts.push(Act::Wake(PULSE, Wake::Pulse));
            }
            Wake::SetUp(job, epoch) => self.set_up(job, epoch, acts),
            Wake::Finished(job, epoch) => self.finished(job, epoch, rng, acts),
        }
    }

    pub(crate) fn hear(&mut self, word: Down, rng: &mut Rng, acts: &mut Vec<Act>) {
        match word {
            Down::Job(job) if self.asked && self.work.is_none() => {
                self.asked = false;
                self.take(job, rng, acts);
            }
            // A job nobody here asked for: saying nothing about it lets its lease run out.
            Down::Job(_) => {}
            Down::NoJob => {
                self.asked = false;
                self.speak(rng, acts);
            }
            Down::Ack(job) => self.acknowledged(job, rng, acts),
            Down::Cancel => self.stop(rng, acts),
            Down::Uploaded { job, progress } => self.progressed(job, progress, rng, acts),
            Down::Closed => self.cut(),
        }
    }

    /// The connection is gone.
    pub(crate) fn cut(&mut self) {
        self.link = Link::Down;
        self.asked = false;
        self.expected.clear();
        self.uploaded = 0;
        self.impatience = 0;
    }

    /// Forgets what it is doing, as a runner does that lost its state but not its connection.
    pub(crate) fn forget(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        self.work = None;
        self.disk.held = None;
        if self.link == Link::Up {
            self.speak(rng, acts);
        }
    }

    pub(crate) fn has_spooled(&self) -> bool {
        !self.disk.spool.is_empty()
    }

    fn pulse(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        if self.link == Link::Down {
            return self.open(rng, acts);
        }
        if self.has_spooled() {
            self.impatience += 1;
            if self.impatience > PATIENCE {
                self.open(rng, acts);
            }
            return;
        }
        self.speak(rng, acts);
    }

    fn open(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        self.cut();
        self.link = Link::Up;
        acts.push(Act::Open);
        self.speak(rng, acts);
    }

    /// Says what is to be said first: an undelivered result, then what is being done, then that there is nothing to do.
    fn speak(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        if let Some(step) = self.next_step() {
            self.impatience = 0;
            self.expected.push_back(Expected::Upload);
            acts.push(Act::Say(Up::Upload(step)));
        } else if let Some(last) = self.disk.spool.front() {
            self.impatience = 0;
            self.expected.push_back(Expected::Last(last.of.job));
            acts.push(Act::Say(Up::Last(last.clone())));
        } else if let Some(work) = &self.work {
            let word = if work.running && self.expected.is_empty() {
                Up::Running
            } else {
                Up::Heartbeat
            };
            self.expected.push_back(Expected::Word);
            acts.push(Act::Say(word));
        } else if let Some(lost) = self.disk.held.take() {
            // A crash took the job. An honest runner says so; a simple one says that it is idle.
            if rng.percent(50) {
                self.spool(
                    lost,
                    Ending::Failed,
                    "the runner was restarted".to_owned(),
                    false,
                );
            }
            self.speak(rng, acts);
        } else if !self.asked {
            self.asked = true;
            acts.push(Act::Say(Up::Ready));
        }
    }

    fn take(&mut self, job: Assignment, rng: &mut Rng, acts: &mut Vec<Act>) {
        let plan = Plan::draw(rng);
        acts.push(plan.begin(job.job, job.epoch));
        self.disk.held = Some(job.clone());
        self.work = Some(Work {
            job,
            running: false,
            plan,
        });
    }

    fn set_up(&mut self, job: i64, epoch: i64, acts: &mut Vec<Act>) {
        let Some(work) = self
            .work
            .as_mut()
            .filter(|work| (work.job.job, work.job.epoch) == (job, epoch))
        else {
            return;
        };
        work.running = true;
        acts.push(work.plan.go_on(job, epoch));
        if self.link == Link::Up {
            self.expected.push_back(Expected::Word);
            acts.push(Act::Say(Up::Running));
        }
    }

    fn finished(&mut self, job: i64, epoch: i64, rng: &mut Rng, acts: &mut Vec<Act>) {
        let Some(work) = self
            .work
            .take_if(|work| (work.job.job, work.job.epoch) == (job, epoch))
        else {
            return;
        };
        let text = work.plan.text(job, epoch, rng);
        let is_large = work.plan.is_large;
        self.spool(work.job, work.plan.ending(), text, is_large);
        if self.link == Link::Up {
            self.speak(rng, acts);
        }
    }

    fn stop(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        if self.expected.front() == Some(&Expected::Word) {
            self.expected.pop_front();
        }
        if let Some(work) = self.work.take() {
            self.spool(work.job, Ending::Canceled, String::new(), false);
            self.speak(rng, acts);
        }
    }

    fn acknowledged(&mut self, job: i64, rng: &mut Rng, acts: &mut Vec<Act>) {
        let Some(Expected::Last(expected)) = self.expected.pop_front() else {
            return;
        };
        let first = self.disk.spool.front().map(|last| last.of.job);
        if expected == job && first == Some(job) {
            self.disk.spool.pop_front();
            self.uploaded = 0;
            self.speak(rng, acts);
        }
    }

    /// What is to be uploaded next before the first result may be said.
    fn next_step(&self) -> Option<UploadStep> {
        let last = self.disk.spool.front().filter(|last| last.is_large)?;
        let (of, whole) = (last.of.clone(), last.text.clone());
        let size = whole.len();
        let chunk = (self.uploaded < size).then(|| {
            let end = size.min(self.uploaded + CHUNK);
            self.uploaded..end
        });
        (self.uploaded <= size).then_some(UploadStep { of, whole, chunk })
    }

    fn progressed(
        &mut self,
        job: i64,
        progress: Option<UploadProgress>,
        rng: &mut Rng,
        acts: &mut Vec<Act>,
    ) {
        if self.expected.pop_front() != Some(Expected::Upload) {
            return;
        }
        let Some(last) = self
            .disk
            .spool
            .front_mut()
            .filter(|last| last.of.job == job)
        else {
            return;
        };
        match progress {
            Some(progress) if progress.complete => self.uploaded = usize::MAX,
            Some(progress) => self.uploaded = usize::try_from(progress.received).unwrap_or(0),
            None => last.is_large = false,
        }
        self.speak(rng, acts);
    }

    /// The result is on the disk before anything else forgets the job.
    fn spool(&mut self, of: Assignment, ending: Ending, text: String, is_large: bool) {
        self.disk.spool.push_back(LastWord {
            of,
            ending,
            text,
            is_large,
        });
        self.uploaded = 0;
        self.disk.held = None;
    }
}
