//! A server that keeps to the protocol: it reads in order, answers in order, and remembers.

use std::collections::{BTreeSet, VecDeque};

use kiln_model::JobUuid;
use kiln_model::v0::ServerMessage;

use super::super::tests::claimed;
use super::world::job_number;
use crate::agent::event::Outgoing;

#[derive(Debug)]
pub(super) struct Server {
    is_faithful: bool,
    /// Whether a job is still the runner's on its next channel.
    takes_up: bool,
    pub(super) inbox: VecDeque<Outgoing>,
    pub(super) outbox: VecDeque<ServerMessage>,
    running: Option<JobUuid>,
    is_canceled: bool,
    is_asked: bool,
    jobs: u32,
    has_result: BTreeSet<JobUuid>,
}

impl Server {
    /// One that the test speaks for.
    pub(super) fn anything() -> Self {
        Self {
            is_faithful: false,
            takes_up: false,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            running: None,
            is_canceled: false,
            is_asked: false,
            jobs: 100,
            has_result: BTreeSet::new(),
        }
    }

    pub(super) fn faithful(takes_up: bool) -> Self {
        Self {
            is_faithful: true,
            takes_up,
            ..Self::anything()
        }
    }

    /// Whether it is known to have a result; one that says anything may.
    pub(super) fn may_have(&self, job: JobUuid) -> bool {
        !self.is_faithful || self.has_result.contains(&job)
    }

    pub(super) const fn is_asked(&self) -> bool {
        self.is_asked
    }

    pub(super) fn new_job(&mut self) -> ServerMessage {
        self.jobs += 1;
        ServerMessage::Job(claimed(job_number(self.jobs)))
    }

    /// Reads one message and answers it.
    pub(super) fn read(&mut self) {
        match self.inbox.pop_front() {
            None => {}
            Some(Outgoing::Ready { .. }) => {
                self.running = None;
                self.is_asked = true;
            }
            Some(Outgoing::Running | Outgoing::Heartbeat) => match self.running {
                Some(_) if self.is_canceled => {
                    self.running = None;
                    self.outbox.push_back(ServerMessage::Cancel);
                }
                Some(job) => self.outbox.push_back(ServerMessage::Ack { job: Some(job) }),
                None => {}
            },
            Some(Outgoing::Result(delivery)) => {
                let job = delivery.job();
                self.has_result.insert(job);
                self.running = self.running.filter(|running| *running != job);
                self.outbox.push_back(ServerMessage::Ack { job: Some(job) });
            }
        }
    }

    pub(super) fn give_job(&mut self) {
        if self.is_asked {
            self.is_asked = false;
            self.is_canceled = false;
            let message = self.new_job();
            self.running = Some(job_number(self.jobs));
            self.outbox.push_back(message);
        }
    }

    pub(super) fn give_no_job(&mut self) {
        if self.is_asked {
            self.is_asked = false;
            self.outbox.push_back(ServerMessage::NoJob);
        }
    }

    pub(super) fn cancel(&mut self, pushed: bool) {
        if pushed && self.running.take().is_some() {
            self.outbox.push_back(ServerMessage::Cancel);
        }
        self.is_canceled = true;
    }

    pub(super) fn cut(&mut self) {
        self.inbox.clear();
        self.outbox.clear();
        self.is_asked = false;
        if !self.takes_up {
            self.running = None;
        }
    }
}
