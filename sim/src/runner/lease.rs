//! A runner of the doors that name leases: one request at a time for each thing it has to say, several jobs at once.

use std::collections::BTreeMap;

use super::{Act, PULSE, Plan, Wake};
use crate::rng::Rng;
use crate::wire::{Assignment, Ending, LastWord, Reply, Request};

/// How long an old lease is remembered, to speak of it when it is not welcome any more.
const MEMORIES: usize = 8;

#[derive(Debug)]
pub(crate) struct LeaseRunner {
    slots: usize,
    work: BTreeMap<(i64, i64), Work>,
    /// Pulses since the last claim went out; nothing when it was answered.
    claiming: Option<u32>,
    disk: Disk,
    old: Vec<Assignment>,
}

#[derive(Debug)]
struct Work {
    job: Assignment,
    running: bool,
    confirmed: bool,
    plan: Plan,
}

#[derive(Debug, Default)]
struct Disk {
    spool: BTreeMap<(i64, i64), LastWord>,
    held: BTreeMap<(i64, i64), Assignment>,
}

impl LeaseRunner {
    pub(crate) fn new(slots: usize) -> Self {
        Self {
            slots,
            work: BTreeMap::new(),
            claiming: None,
            disk: Disk::default(),
            old: Vec::new(),
        }
    }

    pub(crate) fn boot(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        self.work.clear();
        self.claiming = None;
        for (_, lost) in std::mem::take(&mut self.disk.held) {
            if rng.percent(50) {
                self.spool(lost, Ending::Failed, "the runner was restarted".to_owned());
            }
        }
        acts.push(Act::Wake(0, Wake::Pulse));
    }

    pub(crate) fn wake(&mut self, wake: Wake, rng: &mut Rng, acts: &mut Vec<Act>) {
        match wake {
            Wake::Pulse => {
                self.pulse(acts);
                acts.push(Act::Wake(PULSE, Wake::Pulse));
            }
            Wake::SetUp(job, epoch) => {
                let Some(work) = self.work.get_mut(&(job, epoch)) else {
                    return;
                };
                work.running = true;
                acts.push(work.plan.go_on(job, epoch));
                acts.push(Act::Ask(Request::Start(work.job.clone())));
            }
            Wake::Finished(job, epoch) => {
                let Some(work) = self.work.remove(&(job, epoch)) else {
                    return;
                };
                let text = work.plan.text(job, epoch, rng);
                let last = self.spool(work.job, work.plan.ending(), text);
                acts.push(Act::Ask(Request::Last(last)));
            }
        }
    }

    /// The answer to `request`.
    pub(crate) fn hear(
        &mut self,
        request: &Request,
        reply: Reply,
        rng: &mut Rng,
        acts: &mut Vec<Act>,
    ) {
        match (request, reply) {
            (Request::Claim, Reply::Claimed(job)) => {
                self.claiming = None;
                if let Some(job) = job {
                    self.take(job, rng, acts);
                }
            }
            (Request::Start(job), Reply::Continue) => {
                if let Some(work) = self.work.get_mut(&(job.job, job.epoch)) {
                    work.confirmed = true;
                }
            }
            (Request::Start(job) | Request::Beat(job), Reply::Stop) => {
                self.stop(job, acts);
            }
            (Request::Last(last), Reply::Settled) => {
                self.disk.spool.remove(&(last.of.job, last.of.epoch));
            }
            _ => {}
        }
    }

    /// Forgets what it is doing, and says nothing about it.
    pub(crate) fn forget(&mut self) {
        self.work.clear();
        self.disk.held.clear();
        self.claiming = None;
    }

    /// Says something about a lease it had once.
    pub(crate) fn say_something_stale(&mut self, rng: &mut Rng, acts: &mut Vec<Act>) {
        let gone: Vec<_> = self
            .old
            .iter()
            .filter(|job| !self.work.contains_key(&(job.job, job.epoch)))
            .cloned()
            .collect();
        if gone.is_empty() {
            return;
        }
        let job = rng.pick(&gone).clone();
        let text = format!(
            "job {} epoch {} came back from the dead",
            job.job, job.epoch
        );
        let last = |ending| {
            Request::Last(LastWord {
                of: job.clone(),
                ending,
                text: text.clone(),
                is_large: false,
            })
        };
        let words = [
            Request::Start(job.clone()),
            Request::Beat(job.clone()),
            last(Ending::Completed),
            last(Ending::Failed),
            last(Ending::Canceled),
        ];
        acts.push(Act::Ask(rng.pick(&words).clone()));
    }

    pub(crate) fn has_spooled(&self) -> bool {
        !self.disk.spool.is_empty()
    }

    fn pulse(&mut self, acts: &mut Vec<Act>) {
        let spool = self.disk.spool.values().cloned().map(Request::Last);
        acts.extend(spool.map(Act::Ask));
        for work in self.work.values() {
            let job = work.job.clone();
            acts.push(Act::Ask(if work.running && !work.confirmed {
                Request::Start(job)
            } else {
                Request::Beat(job)
            }));
        }
        let waits = self.claiming.as_mut().is_some_and(|pulses| {
            *pulses += 1;
            *pulses < 2
        });
        if self.work.len() < self.slots && !waits {
            self.claiming = Some(0);
            acts.push(Act::Ask(Request::Claim));
        }
    }

    fn stop(&mut self, job: &Assignment, acts: &mut Vec<Act>) {
        if self.work.remove(&(job.job, job.epoch)).is_some() {
            let last = self.spool(job.clone(), Ending::Canceled, String::new());
            acts.push(Act::Ask(Request::Last(last)));
        }
    }

    fn take(&mut self, job: Assignment, rng: &mut Rng, acts: &mut Vec<Act>) {
        let plan = Plan::draw(rng);
        let key = (job.job, job.epoch);
        acts.push(plan.begin(job.job, job.epoch));
        self.disk.held.insert(key, job.clone());
        if self.old.len() == MEMORIES {
            self.old.remove(0);
        }
        self.old.push(job.clone());
        self.work.insert(
            key,
            Work {
                job,
                running: false,
                confirmed: false,
                plan,
            },
        );
    }

    fn spool(&mut self, of: Assignment, ending: Ending, text: String) -> LastWord {
        let key = (of.job, of.epoch);
        let last = LastWord {
            of,
            ending,
            text,
            is_large: false,
        };
        self.disk.spool.insert(key, last.clone());
        self.disk.held.remove(&key);
        last
    }
}
