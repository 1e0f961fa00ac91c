//! A server that keeps to the protocol: it reads in order, answers in order, and remembers.

use std::collections::{BTreeSet, VecDeque};

use kiln_model::JobUuid;
use kiln_model::v0::ServerMessage;

use super::super::tests::claimed;
use super::world::job_number;
use crate::agent::event::Outgoing;

#[derive(Debug)]
pub(super) struct Server {
    temper: Temper,
    pub(super) inbox: VecDeque<Outgoing>,
    pub(super) outbox: VecDeque<ServerMessage>,
    lease: Option<Lease>,
    is_asked: bool,
    jobs: u32,
    has_result: BTreeSet<JobUuid>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temper {
    SaysAnything,
    Faithful {
        /// Whether a job is still the runner's on its next channel.
        takes_up: bool,
    },
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    job: JobUuid,
    is_canceled: bool,
}

impl Server {
    /// One that the test speaks for.
    pub(super) fn anything() -> Self {
        Self {
            temper: Temper::SaysAnything,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            lease: None,
            is_asked: false,
            jobs: 100,
            has_result: BTreeSet::new(),
        }
    }

    pub(super) fn faithful(takes_up: bool) -> Self {
        Self {
            temper: Temper::Faithful { takes_up },
            ..Self::anything()
        }
    }

    /// Whether it is known to have a result; one that says anything may.
    pub(super) fn may_have(&self, job: JobUuid) -> bool {
        self.temper == Temper::SaysAnything || self.has_result.contains(&job)
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
                self.lease = None;
                self.is_asked = true;
            }
            Some(Outgoing::Running | Outgoing::Heartbeat) => match self.lease {
                Some(lease) if lease.is_canceled => {
                    self.lease = None;
                    self.outbox.push_back(ServerMessage::Cancel);
                }
                Some(lease) => self.acknowledge(lease.job),
                None => {}
            },
            Some(Outgoing::Result(delivery)) => {
                let job = delivery.job();
                self.has_result.insert(job);
                self.lease = self.lease.filter(|lease| lease.job != job);
                self.acknowledge(job);
            }
        }
    }

    pub(super) fn give_job(&mut self) {
        if self.is_asked {
            self.is_asked = false;
            let message = self.new_job();
            self.lease = Some(Lease {
                job: job_number(self.jobs),
                is_canceled: false,
            });
            self.outbox.push_back(message);
        }
    }

    pub(super) fn give_no_job(&mut self) {
        if self.is_asked {
            self.is_asked = false;
            self.outbox.push_back(ServerMessage::NoJob);
        }
    }

    /// Cancels the job, at once or in place of the next acknowledgement.
    pub(super) fn cancel(&mut self, pushed: bool) {
        if pushed && self.lease.take().is_some() {
            self.outbox.push_back(ServerMessage::Cancel);
        }
        if let Some(lease) = &mut self.lease {
            lease.is_canceled = true;
        }
    }

    pub(super) fn cut(&mut self) {
        self.inbox.clear();
        self.outbox.clear();
        self.is_asked = false;
        if self.temper != (Temper::Faithful { takes_up: true }) {
            self.lease = None;
        }
    }

    fn acknowledge(&mut self, job: JobUuid) {
        self.outbox.push_back(ServerMessage::Ack { job: Some(job) });
    }
}
