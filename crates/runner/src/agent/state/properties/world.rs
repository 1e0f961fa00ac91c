//! Everything around a state: time, network, disk and work, with a check at each effect.

use std::collections::{BTreeSet, VecDeque};

use kiln_model::v0::ServerMessage;
use kiln_model::{JobUuid, Millis};

use super::server::Server;
use crate::Delivery;
use crate::agent::event::{Effect, Event, Exit, Moment, Outgoing};
use crate::agent::state::{Phase, State};

/// Enough to settle anything: waits are jumped over, so a round is a step and not a time.
const ROUNDS: usize = 2_000;

pub(super) fn job_number(number: u32) -> JobUuid {
    format!("01a1de47-71b7-7681-a510-0000{number:08x}")
        .parse()
        .unwrap()
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) state: State,
    pub(super) server: Server,
    pub(super) disk_works: bool,
    now: Millis,
    link: Wire,
    work: Chore,
    /// On disk.
    spooled: BTreeSet<JobUuid>,
    /// Ever given to this runner.
    taken: BTreeSet<JobUuid>,
    /// Results sent on this channel.
    sent: BTreeSet<JobUuid>,
    /// Acknowledged on this channel after their result was sent.
    acknowledged: BTreeSet<JobUuid>,
    last_beat: Option<Millis>,
    /// What is on its way beside a result.
    uploading: Option<JobUuid>,
    /// Brought there, or not taken, on this channel.
    uploaded: BTreeSet<JobUuid>,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wire {
    Down,
    Dialing,
    Up,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chore {
    None,
    SettingUp {
        job: JobUuid,
        is_stopped: bool,
    },
    Ready {
        job: JobUuid,
    },
    Executing {
        job: JobUuid,
        is_stopped: bool,
    },
    /// Ended, and its result is not on disk yet.
    Ended,
}

impl World {
    pub(super) fn new(spooled: u32, server: Server) -> Self {
        let now = Millis(1_000);
        let jobs: Vec<JobUuid> = (0..spooled).map(job_number).collect();
        let deliveries = jobs.iter().map(|job| Delivery::canceled(*job)).collect();
        Self {
            state: State::new(deliveries, now),
            server,
            disk_works: true,
            now,
            link: Wire::Down,
            work: Chore::None,
            spooled: jobs.iter().copied().collect(),
            taken: jobs.into_iter().collect(),
            sent: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            last_beat: None,
            uploading: None,
            uploaded: BTreeSet::new(),
            has_ended: false,
        }
    }

    pub(super) fn upload(&mut self, taken: bool) {
        if let Some(job) = self.uploading.take() {
            self.uploaded.insert(job);
            self.happen(Event::Uploaded { job, taken });
        }
    }

    pub(super) fn pass(&mut self, millis: u32) {
        self.now.0 += i64::from(millis);
        self.happen(Event::Tick);
        let wake = self.state.next_wake().filter(|_| !self.has_ended);
        assert!(
            wake.is_none_or(|at| at > self.now),
            "a tick leaves nothing due"
        );
    }

    pub(super) fn dial(&mut self, succeeds: bool) {
        if self.link == Wire::Dialing {
            self.link = if succeeds { Wire::Up } else { Wire::Down };
            self.happen(if succeeds {
                Event::Connected
            } else {
                Event::Disconnected
            });
        }
    }

    pub(super) fn cut(&mut self) {
        if self.link != Wire::Down {
            self.hang_up();
            self.happen(Event::Disconnected);
        }
    }

    pub(super) fn work(&mut self, succeeds: bool) {
        match self.work {
            Chore::SettingUp { job, is_stopped } => {
                let succeeds = succeeds && !is_stopped;
                self.work = if succeeds {
                    Chore::Ready { job }
                } else {
                    Chore::Ended
                };
                let failure = Delivery::failed(job, Vec::new(), "", None);
                self.happen(Event::SetUp(if succeeds { Ok(()) } else { Err(failure) }));
            }
            Chore::Executing { job, .. } => {
                self.work = Chore::Ended;
                self.happen(Event::Executed(if succeeds {
                    Delivery::completed(job, Vec::new(), None)
                } else {
                    Delivery::with_output_beside(job, 1)
                }));
            }
            Chore::None | Chore::Ready { .. } | Chore::Ended => {}
        }
    }

    pub(super) fn drain(&mut self) {
        self.happen(Event::Drain);
    }

    pub(super) fn stop(&mut self) {
        self.happen(Event::Stop);
    }

    pub(super) fn hear(&mut self, message: ServerMessage) {
        if self.link != Wire::Up {
            return;
        }
        if let ServerMessage::Ack { job: Some(job) } = &message
            && self.sent.contains(job)
        {
            self.acknowledged.insert(*job);
        }
        self.happen(Event::Received(message));
    }

    /// Lets everything work until nothing is left to do, and checks that every job has its result.
    pub(super) fn settle(&mut self) {
        self.disk_works = true;
        for _ in 0..ROUNDS {
            self.dial(true);
            self.work(true);
            self.upload(true);
            while !self.server.inbox.is_empty() {
                self.server.read();
            }
            if self.state.phase() == Phase::Idle && self.server.is_asked() {
                assert_eq!(self.spooled, BTreeSet::new());
                assert!(self.taken.iter().all(|job| self.server.may_have(*job)));
                return;
            }
            if let Some(message) = self.server.outbox.pop_front() {
                self.hear(message);
            } else if let Some(at) = self.state.next_wake() {
                self.now = self.now.max(at);
                self.pass(0);
            }
        }
        panic!("not settled: {self:?}");
    }

    fn hang_up(&mut self) {
        self.link = Wire::Down;
        self.sent.clear();
        self.acknowledged.clear();
        self.uploaded.clear();
        self.last_beat = None;
        self.server.cut();
    }

    fn happen(&mut self, event: Event) {
        if self.has_ended {
            return;
        }
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let moment = Moment {
                now: self.now,
                jitter: 0,
            };
            for effect in self.state.apply(event, moment) {
                assert!(!self.has_ended, "{effect:?} after the end");
                events.extend(self.perform(effect));
            }
        }
    }

    fn perform(&mut self, effect: Effect) -> Option<Event> {
        match effect {
            Effect::Connect => {
                assert_eq!(self.link, Wire::Down);
                self.link = Wire::Dialing;
            }
            Effect::Drop => self.hang_up(),
            Effect::Close => assert_eq!(self.link, Wire::Up),
            Effect::Send(message) => {
                assert_eq!(self.link, Wire::Up, "{message:?} without a channel");
                self.check_send(&message);
                self.server.inbox.push_back(message);
            }
            Effect::SetUp(job) => {
                assert_eq!(self.work, Chore::None, "one job at a time");
                assert!(self.spooled.is_empty(), "no job while a result is owed");
                self.taken.insert(job.uuid);
                self.work = Chore::SettingUp {
                    job: job.uuid,
                    is_stopped: false,
                };
            }
            Effect::Execute => {
                let Chore::Ready { job } = self.work else {
                    panic!("nothing is ready to execute: {:?}", self.work)
                };
                self.work = Chore::Executing {
                    job,
                    is_stopped: false,
                };
            }
            Effect::StopWork => self.stop_work(),
            Effect::Spool(delivery) => {
                assert_eq!(self.work, Chore::Ended, "a result before the end");
                if !self.disk_works {
                    return Some(Event::NotSpooled);
                }
                self.spooled.insert(delivery.job());
                self.work = Chore::None;
                return Some(Event::Spooled);
            }
            Effect::Upload { job, .. } => {
                assert_eq!(self.link, Wire::Up);
                assert!(self.spooled.contains(&job), "an upload before the disk");
                self.uploading = Some(job);
            }
            Effect::Forget(job) => {
                assert!(
                    self.acknowledged.contains(&job),
                    "forgotten without acknowledgement"
                );
                assert!(
                    self.server.may_have(job),
                    "forgotten before the server has it"
                );
                assert!(self.spooled.remove(&job));
            }
            Effect::Remark(_) => {}
            Effect::Exit(exit) => {
                self.has_ended = true;
                if exit == Exit::Done {
                    assert_eq!(self.work, Chore::None);
                    assert_eq!(self.spooled, BTreeSet::new());
                }
            }
        }
        None
    }

    fn stop_work(&mut self) {
        match &mut self.work {
            Chore::SettingUp { is_stopped, .. } | Chore::Executing { is_stopped, .. } => {
                assert!(!*is_stopped, "stopped twice");
                *is_stopped = true;
            }
            Chore::Ready { .. } => self.work = Chore::Ended,
            Chore::None | Chore::Ended => panic!("nothing to stop: {:?}", self.work),
        }
    }

    fn check_send(&mut self, message: &Outgoing) {
        match message {
            Outgoing::Ready { .. } => {
                assert_eq!(self.work, Chore::None, "ready while a job is held");
                assert!(self.spooled.is_empty(), "ready while a result is owed");
            }
            Outgoing::Running => assert!(
                matches!(
                    self.work,
                    Chore::Ready { .. }
                        | Chore::Executing {
                            is_stopped: false,
                            ..
                        }
                ),
                "running while {:?}",
                self.work
            ),
            Outgoing::Heartbeat => {
                assert!(
                    matches!(
                        self.work,
                        Chore::SettingUp {
                            is_stopped: false,
                            ..
                        } | Chore::Executing {
                            is_stopped: false,
                            ..
                        }
                    ) || self.uploading.is_some(),
                    "a heartbeat while {:?}",
                    self.work
                );
                let gap = self.last_beat.map(|last| self.now.0 - last.0);
                assert!(
                    gap.is_none_or(|gap| gap >= 1_000),
                    "heartbeats {gap:?} ms apart"
                );
                self.last_beat = Some(self.now);
            }
            Outgoing::Result(delivery) => {
                let job = delivery.job();
                assert!(self.spooled.contains(&job), "sent before it was spooled");
                let is_there = delivery.large().is_none() || self.uploaded.contains(&job);
                assert!(is_there, "sent before what it names");
                self.sent.insert(job);
                self.acknowledged.remove(&job);
            }
        }
    }
}
