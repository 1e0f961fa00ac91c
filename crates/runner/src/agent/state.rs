//! The agent as a pure state machine: no I/O, no clock, no randomness of its own.
//!
//! ```text
//!                 ╭───────────────── acknowledged, nothing more owed ───────────────────╮
//!                 ▼                                                                     │
//! start ─▶ free (`ready`) ── job ─▶ setting up ── done ─▶ executing ── end ─▶ spooling ─▶ delivering
//!   │                                   │                     │                  ▲          ▲
//!   │                                   ╰─ cancel, stop ──────┴─▶ stopping ──────╯          │
//!   ╰────────────────────────── results spooled by an earlier process ──────────────────────╯
//! ```
//!
//! Beside that the channel comes and goes. A job is not disturbed by it: when the channel is back, the agent
//! says `running` again and goes on with heartbeats, or delivers what is owed, before it asks for another job.
//!
//! **Output that goes beside a result** is brought to the server before the result that names it is sent, and asked about
//! again on every new channel. Heartbeats keep the lease meanwhile. What the server does not take is left out, and the
//! message with the beginnings goes alone.
//!
//! **Which acknowledgement is the last one.** The server answers `running`, every heartbeat and the terminal
//! message alike, in order, with the same words. So the agent counts the answers it is owed: the terminal
//! message is acknowledged by the one after all earlier ones. After a `cancel` the server owes no fixed number
//! of answers any more, but then it has given up the job and any answer will do. If the count does not come
//! out, the channel is dropped, and on the next one the terminal message is the only one to be answered.

mod duty;
mod link;
mod offers;

use std::collections::VecDeque;

use kiln_model::v0::ServerMessage;
use kiln_model::{JobUuid, Millis};

use super::event::{Effect, Event, Exit, Moment, Outgoing, Remark};
use super::limits::{
    CLOSE_PATIENCE, HEARTBEAT_INTERVAL, READY_INTERVAL, SPOOL_INTERVAL, STOP_PATIENCE,
};
use crate::{Delivery, Offer, Updates};
use duty::{Cause, Duty, Upload};
use link::{Link, Talk};
use offers::Offers;

/// What the agent is about, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    Disconnected,
    Idle,
    SettingUp,
    Executing,
    Stopping,
    Delivering,
    Ended,
}

#[derive(Debug)]
pub struct State {
    link: Link,
    duty: Duty,
    ending: Ending,
    offers: Offers,
}

#[derive(Debug, PartialEq, Eq)]
enum Ending {
    No,
    Draining,
    Stopping { by: Millis },
    Ended,
}

impl State {
    /// Owes what an earlier process has spooled and not delivered. Connects at the first tick.
    pub fn new(spooled: Vec<Delivery>, now: Millis) -> Self {
        let owed = VecDeque::from(spooled);
        let duty = if owed.is_empty() {
            Duty::free(now)
        } else {
            Duty::recovered(owed)
        };
        Self {
            link: Link::Down {
                attempts: 0,
                retry_at: now,
            },
            duty,
            ending: Ending::No,
            offers: Offers::unwanted(now),
        }
    }

    /// The same, ending for the first program that the server offers and that is to be taken.
    #[must_use]
    pub fn with_updates(self, updates: &Updates, moment: Moment) -> Self {
        Self {
            offers: Offers::wanted(updates, moment),
            ..self
        }
    }

    pub fn phase(&self) -> Phase {
        if self.ending == Ending::Ended {
            return Phase::Ended;
        }
        match (&self.duty, &self.link) {
            (Duty::SettingUp { .. }, _) => Phase::SettingUp,
            (Duty::Executing { .. }, _) => Phase::Executing,
            (Duty::Stopping { .. }, _) => Phase::Stopping,
            (_, Link::Down { .. } | Link::Dialing { .. }) => Phase::Disconnected,
            (Duty::Free { .. }, Link::Up(_)) => Phase::Idle,
            (Duty::Spooling { .. } | Duty::Delivering { .. }, Link::Up(_)) => Phase::Delivering,
        }
    }

    /// The job that is held, or whose result is delivered now.
    pub fn job(&self) -> Option<JobUuid> {
        self.duty.job()
    }

    /// When `Tick` is due; `None` while only events count.
    pub fn next_wake(&self) -> Option<Millis> {
        let stop_by = match self.ending {
            Ending::Stopping { by } => Some(by),
            Ending::No | Ending::Draining | Ending::Ended => None,
        };
        [
            self.link.wake(&self.duty),
            self.duty.wake(),
            self.ask_at(),
            stop_by,
        ]
        .into_iter()
        .flatten()
        .min()
    }

    pub fn apply(&mut self, event: Event, moment: Moment) -> Vec<Effect> {
        let mut effects = Vec::new();
        if self.ending == Ending::Ended {
            return effects;
        }
        let now = moment.now;
        match event {
            Event::Connected => self.connected(now, &mut effects),
            Event::Disconnected => self.disconnected(moment, &mut effects),
            Event::Refused => self.refused(moment, &mut effects),
            Event::Received(message) => self.received(message, now, &mut effects),
            Event::SetUp(result) => self.set_up(result, now, &mut effects),
            Event::Executed(delivery) => self.executed(delivery, &mut effects),
            Event::Spooled => self.spooled(now, &mut effects),
            Event::NotSpooled => self.not_spooled(now),
            Event::Uploaded { job, taken } => self.uploaded(job, taken, now, &mut effects),
            Event::Tick => self.tick(moment, &mut effects),
            Event::Drain => self.drain(now, &mut effects),
            Event::Stop => self.stop(now, &mut effects),
        }
        effects
    }

    fn connected(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let Link::Dialing { attempts, .. } = self.link else {
            return;
        };
        self.link = Link::Up(Talk::new(attempts, now));
        match &self.duty {
            Duty::Free { .. } => self.ask_if_due(now, effects),
            Duty::SettingUp { .. } => self.send_counted(Outgoing::Heartbeat, now, effects),
            Duty::Executing { .. } => self.send_counted(Outgoing::Running, now, effects),
            Duty::Stopping { .. } | Duty::Spooling { .. } => {}
            Duty::Delivering { .. } => self.deliver(now, effects),
        }
    }

    fn disconnected(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        self.link = self.link.lost(moment);
        self.duty.channel_lost(moment.now);
        if matches!(self.duty, Duty::Free { .. }) && self.ending != Ending::No {
            self.exit(Exit::Done, effects);
        }
    }

    /// A job that has begun is worth its result, which waits in the spool for a runner with a key that is good.
    fn refused(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        match &self.duty {
            Duty::Executing { .. } | Duty::Stopping { .. } | Duty::Spooling { .. } => {
                self.disconnected(moment, effects);
            }
            Duty::Free { .. } | Duty::SettingUp { .. } | Duty::Delivering { .. } => {
                self.exit(Exit::Unauthorized, effects);
            }
        }
    }

    fn received(&mut self, message: ServerMessage, now: Millis, effects: &mut Vec<Effect>) {
        let Link::Up(talk) = &mut self.link else {
            return;
        };
        talk.heard(now);
        match message {
            ServerMessage::Ack { job: Some(job) } => self.acknowledged(job, now, effects),
            ServerMessage::Ack { job: None } => {}
            ServerMessage::Job(job) if matches!(self.duty, Duty::Free { .. }) => {
                talk.beat_at = now + HEARTBEAT_INTERVAL;
                self.duty = Duty::SettingUp { job: job.uuid };
                effects.push(Effect::SetUp(job));
            }
            ServerMessage::Job(job) => {
                effects.push(Effect::Remark(Remark::UnexpectedJob(job.uuid)));
            }
            ServerMessage::NoJob => self.duty.answered(),
            ServerMessage::Cancel => self.canceled(now, effects),
            ServerMessage::Update {
                version,
                url,
                checksum,
            } => {
                let offer = Offer {
                    version,
                    url,
                    checksum,
                };
                let is_free = self.ending == Ending::No && matches!(self.duty, Duty::Free { .. });
                if is_free && self.offers.would_take(&offer, now) {
                    return self.exit(Exit::Update(Box::new(offer)), effects);
                }
                self.offers.declined(now);
                self.duty.answered();
                let version = offer.version;
                effects.push(Effect::Remark(Remark::UpdateDeclined { version }));
            }
        }
        self.ask_if_due(now, effects);
    }

    fn acknowledged(&mut self, job: JobUuid, now: Millis, effects: &mut Vec<Effect>) {
        let Link::Up(talk) = &mut self.link else {
            return;
        };
        if self.duty.job() != Some(job) {
            return;
        }
        let Duty::Delivering {
            owed,
            sent_at,
            settled,
            upload,
            was_held,
        } = &mut self.duty
        else {
            talk.unanswered = talk.unanswered.saturating_sub(1);
            return;
        };
        if sent_at.is_none() || (talk.unanswered > 0 && !*settled) {
            talk.unanswered = talk.unanswered.saturating_sub(1);
            return;
        }
        owed.pop_front();
        talk.unanswered = 0;
        *sent_at = None;
        *settled = false;
        *upload = Upload::Due;
        *was_held = false;
        let is_all = owed.is_empty();
        effects.push(Effect::Forget(job));
        if !is_all {
            return self.deliver(now, effects);
        }
        self.duty = Duty::free(now);
        if self.ending != Ending::No {
            self.exit(Exit::Done, effects);
        }
    }

    fn canceled(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        match &mut self.duty {
            Duty::SettingUp { job } | Duty::Executing { job } => {
                let job = *job;
                self.duty = Duty::Stopping {
                    job,
                    cause: Cause::Canceled,
                };
                effects.push(Effect::StopWork);
            }
            Duty::Stopping { cause, .. } => *cause = Cause::Canceled,
            Duty::Spooling { settled, .. } => *settled = true,
            Duty::Delivering {
                settled, sent_at, ..
            } => {
                *settled = true;
                if sent_at.is_none() {
                    self.deliver(now, effects);
                }
            }
            Duty::Free { .. } => {}
        }
    }

    fn set_up(&mut self, result: Result<(), Delivery>, now: Millis, effects: &mut Vec<Effect>) {
        match (&self.duty, result) {
            (Duty::SettingUp { job }, Ok(())) => {
                self.duty = Duty::Executing { job: *job };
                self.send_counted(Outgoing::Running, now, effects);
                effects.push(Effect::Execute);
            }
            (Duty::SettingUp { .. }, Err(delivery)) => self.conclude(delivery, false, effects),
            (Duty::Stopping { job, cause }, result) => {
                let (delivery, settled) = (cause.report(*job), *cause == Cause::Canceled);
                if result.is_ok() {
                    effects.push(Effect::StopWork);
                }
                self.conclude(delivery, settled, effects);
            }
            _ => {}
        }
    }

    fn executed(&mut self, delivery: Delivery, effects: &mut Vec<Effect>) {
        match &self.duty {
            Duty::Executing { .. } => self.conclude(delivery, false, effects),
            Duty::Stopping { cause, .. } => {
                let settled = *cause == Cause::Canceled;
                let delivery = cause.report_with(delivery);
                self.conclude(delivery, settled, effects);
            }
            Duty::Free { .. }
            | Duty::SettingUp { .. }
            | Duty::Spooling { .. }
            | Duty::Delivering { .. } => {}
        }
    }

    fn conclude(&mut self, delivery: Delivery, settled: bool, effects: &mut Vec<Effect>) {
        effects.push(Effect::Spool(delivery.clone()));
        self.duty = Duty::Spooling {
            delivery,
            retry_at: None,
            settled,
        };
    }

    fn spooled(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if let Duty::Spooling {
            delivery, settled, ..
        } = &self.duty
        {
            self.duty = Duty::Delivering {
                owed: VecDeque::from([delivery.clone().spooled()]),
                sent_at: None,
                settled: *settled,
                upload: Upload::Due,
                was_held: true,
            };
            self.deliver(now, effects);
        }
    }

    fn uploaded(&mut self, job: JobUuid, taken: bool, now: Millis, effects: &mut Vec<Effect>) {
        let Duty::Delivering {
            owed,
            sent_at: None,
            upload: upload @ Upload::UnderWay,
            ..
        } = &mut self.duty
        else {
            return;
        };
        if let Some(next) = owed.front_mut().filter(|next| next.job() == job) {
            *upload = Upload::Done;
            if !taken {
                *next = next.clone().without_large();
            }
            self.deliver(now, effects);
        }
    }

    fn not_spooled(&mut self, now: Millis) {
        if let Duty::Spooling { retry_at, .. } = &mut self.duty {
            *retry_at = Some(now + SPOOL_INTERVAL);
        }
    }

    fn tick(&mut self, moment: Moment, effects: &mut Vec<Effect>) {
        let now = moment.now;
        if matches!(self.ending, Ending::Stopping { by } if now >= by) {
            return self.exit(Exit::Undelivered, effects);
        }
        if let Duty::Spooling {
            delivery, retry_at, ..
        } = &mut self.duty
            && retry_at.is_some_and(|at| now >= at)
        {
            *retry_at = None;
            effects.push(Effect::Spool(delivery.clone()));
        }
        match &self.link {
            Link::Down { attempts, retry_at } if now >= *retry_at => {
                self.link = Link::Dialing {
                    attempts: *attempts,
                    since: now,
                };
                effects.push(Effect::Connect);
            }
            Link::Down { .. } => {}
            link if link.deadline(&self.duty).is_some_and(|at| now >= at) => {
                effects.extend([Effect::Remark(Remark::NoAnswer), Effect::Drop]);
                self.disconnected(moment, effects);
            }
            Link::Dialing { .. } => {}
            Link::Up(_) => {
                self.beat_if_due(now, effects);
                self.ask_if_due(now, effects);
            }
        }
    }

    fn drain(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.ending != Ending::No {
            return;
        }
        self.ending = Ending::Draining;
        if !matches!(self.duty, Duty::Free { .. }) {
            return;
        }
        match &mut self.link {
            // The server may be handing over a job at this moment: after an orderly close it is known
            // whether it did, and such a job is still done.
            Link::Up(talk) => {
                talk.close_by = Some(now + CLOSE_PATIENCE);
                effects.push(Effect::Close);
            }
            Link::Down { .. } | Link::Dialing { .. } => self.exit(Exit::Done, effects),
        }
    }

    fn stop(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if matches!(self.ending, Ending::Stopping { .. }) {
            return;
        }
        self.ending = Ending::Stopping {
            by: now + STOP_PATIENCE,
        };
        match &self.duty {
            Duty::Free { .. } => self.exit(Exit::Done, effects),
            Duty::SettingUp { job } | Duty::Executing { job } => {
                self.duty = Duty::Stopping {
                    job: *job,
                    cause: Cause::Stopped,
                };
                effects.push(Effect::StopWork);
            }
            Duty::Stopping { .. } | Duty::Spooling { .. } | Duty::Delivering { .. } => {}
        }
    }

    fn exit(&mut self, exit: Exit, effects: &mut Vec<Effect>) {
        self.ending = Ending::Ended;
        effects.push(Effect::Exit(exit));
    }

    /// When a job may be asked for.
    fn ask_at(&self) -> Option<Millis> {
        match (&self.link, &self.duty, &self.ending) {
            (
                Link::Up(_),
                Duty::Free {
                    asked_at: None,
                    ask_at,
                },
                Ending::No,
            ) => Some(*ask_at),
            _ => None,
        }
    }

    fn ask_if_due(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.ask_at().is_some_and(|at| now >= at) {
            self.duty = Duty::Free {
                asked_at: Some(now),
                ask_at: now + READY_INTERVAL,
            };
            let introduce = self.offers.are_invited(now);
            effects.push(Effect::Send(Outgoing::Ready { introduce }));
        }
    }

    fn beat_if_due(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if let Link::Up(talk) = &self.link
            && self.duty.is_leased()
            && now >= talk.beat_at
        {
            self.send_counted(Outgoing::Heartbeat, now, effects);
        }
    }

    /// Sends a message that the server answers with an acknowledgement of the job.
    fn send_counted(&mut self, message: Outgoing, now: Millis, effects: &mut Vec<Effect>) {
        if let Link::Up(talk) = &mut self.link {
            talk.sent_counted(now);
            effects.push(Effect::Send(message));
        }
    }

    fn deliver(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let (
            Link::Up(talk),
            Duty::Delivering {
                owed,
                sent_at,
                settled,
                upload,
                ..
            },
        ) = (&mut self.link, &mut self.duty)
        else {
            return;
        };
        let Some(next) = owed.front_mut() else {
            return;
        };
        match (next.large(), *upload) {
            // The server wants nothing more of a job that it has canceled.
            (Some(_), _) if *settled => *next = next.clone().without_large(),
            (Some(large), Upload::Due) => {
                *upload = Upload::UnderWay;
                talk.wait_from(now);
                let (job, large) = (next.job(), large.clone());
                effects.push(Effect::Upload { job, large });
                return self.beat_if_due(now, effects);
            }
            (Some(_), Upload::UnderWay) => return,
            (Some(_), Upload::Done) | (None, _) => {}
        }
        *sent_at = Some(now);
        effects.push(Effect::Send(Outgoing::Result(next.clone())));
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod updates;
#[cfg(test)]
mod uploads;
