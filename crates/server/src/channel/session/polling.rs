//! A runner that waits for a job.

use std::time::Duration;

use kiln_model::Millis;
use kiln_model::v0::{RunnerMetadata, ServerMessage};
use kiln_store::{Bell, Listener};
use tokio::time::Instant;

use super::{End, Session, State, own_trouble};
use crate::channel::assign::{self, Next};
use crate::channel::contact::Contact;
use crate::channel::offers;

/// Seconds a `ready` waits when it does not say.
const DEFAULT_POLL: u32 = 30;
/// Waits for work end together, at multiples of this: ten thousand idle runners do not wake the server one by one.
const TICK_MS: i64 = 250;
/// How long a lane that was found empty is believed to be empty as long as no bell rings. None is lost that we know of; this is what
/// it costs if one is.
const BELIEVED: Duration = Duration::from_mins(10);

pub(super) struct Poll {
    pub(super) deadline: Instant,
    pub(super) bells: Listener,
    /// The job that this slot lets go first. It listens for that one and for its runner's other slots, and leaves the bells of
    /// its lanes to those who can answer them.
    aside: Option<i64>,
}

/// When the lanes of a runner were found empty, and how often their bells had rung before that look.
pub(super) struct Quiet {
    since: Instant,
    rings: u64,
}

impl Session<'_> {
    pub(super) async fn ready(
        &mut self,
        poll_timeout: Option<u32>,
        mut metadata: Option<RunnerMetadata>,
    ) -> Result<(), End> {
        if let Some(metadata) = &mut metadata {
            metadata.slots = (!self.slot.is_whole()).then_some(self.slot.of());
        }
        let seconds = poll_timeout.unwrap_or(DEFAULT_POLL);
        let deadline = Instant::now() + wait(seconds, self.app.clock.monotonic());
        self.told_to_stop = false;
        self.updating = None;
        let contact = Contact::new(self.app, &self.runner, metadata.as_ref());
        if let Some(metadata) = &metadata
            && let Some(update) = offers::offer(self.app, metadata).await
        {
            contact.keep(self.app).await.map_err(own_trouble)?;
            self.state = State::Idle;
            self.updating = Some(self.app.metrics.updating.enter());
            return self.say(&update).await;
        }
        self.poll(deadline);
        match contact.unless_brief(self.app) {
            None if self.is_quiet() => Ok(()),
            contact => self.claim_as(contact).await,
        }
    }

    /// Whether a look would find what the last one did: nothing. Ten thousand idle runners ask again and again.
    fn is_quiet(&self) -> bool {
        self.quiet
            .as_ref()
            .is_some_and(|quiet| quiet.since.elapsed() < BELIEVED && quiet.rings == self.rings())
    }

    fn rings(&self) -> u64 {
        self.app.store.bells.rings_of_lanes(&self.lanes)
    }

    /// Waits for the bells of its lanes from now on: they are heard before the first look, so that none is missed.
    fn poll(&mut self, deadline: Instant) {
        let lanes = self.lanes.iter().copied().map(Bell::Lane);
        let slots = (!self.slot.is_whole()).then_some(Bell::Slots(self.runner.id));
        let bells = self.app.store.bells.subscribe_to(lanes.chain(slots));
        self.state = State::Polling(Poll {
            deadline,
            bells,
            aside: None,
        });
    }

    /// Lets `job` go first. What this slot heard of its lanes is for others.
    fn step_aside(&mut self, deadline: Instant, job: i64) {
        let bells = [Bell::Slots(self.runner.id), Bell::Job(job)];
        self.state = State::Polling(Poll {
            deadline,
            bells: self.app.store.bells.subscribe_to(bells),
            aside: Some(job),
        });
        for lane in &self.lanes {
            self.app.store.bells.ring(Bell::Lane(*lane));
        }
    }

    pub(super) async fn claim(&mut self) -> Result<(), End> {
        if let State::Polling(Poll {
            deadline,
            aside: Some(_),
            ..
        }) = self.state
        {
            self.poll(deadline);
        }
        self.claim_as(None).await
    }

    async fn claim_as(&mut self, mut contact: Option<Contact>) -> Result<(), End> {
        self.quiet = None;
        loop {
            let rings = self.rings();
            let next = assign::next(self.app, &self.runner, self.slot, contact.take());
            let Next {
                assignment,
                lanes,
                aside,
            } = next.await.map_err(own_trouble)?;
            if let Some(assignment) = assignment {
                self.execute(assignment.job, assignment.claimed.uuid);
                let job = ServerMessage::Job(Box::new(assignment.claimed));
                return self.say(&job).await;
            }
            let State::Polling(poll) = &self.state else {
                return Ok(());
            };
            // It listens first, and looks again, so that no bell is missed.
            match (aside, poll.aside) {
                (Some(first), Some(before)) if first == before => return Ok(()),
                (Some(first), _) => {
                    self.step_aside(poll.deadline, first);
                    continue;
                }
                (None, Some(_)) => {
                    self.poll(poll.deadline);
                    continue;
                }
                (None, None) => {}
            }
            if lanes == self.lanes {
                let since = Instant::now();
                self.quiet = Some(Quiet { since, rings });
                return Ok(());
            }
            // Others than it listens to: it listens to these, and looks again. What it heard of those that it does not serve any
            // more is for another runner.
            let deadline = poll.deadline;
            let served = std::mem::replace(&mut self.lanes, lanes);
            for lane in served.iter().filter(|lane| !self.lanes.contains(lane)) {
                self.app.store.bells.ring(Bell::Lane(*lane));
            }
            self.poll(deadline);
        }
    }

    pub(super) async fn give_up(&mut self) -> Result<(), End> {
        self.state = State::Idle;
        self.heard = Instant::now();
        self.say(&ServerMessage::NoJob).await
    }
}

/// How long a runner waits that asks for so many seconds now: less than a tick below that.
fn wait(seconds: u32, now: Millis) -> Duration {
    let asked = i64::from(seconds) * 1_000;
    let early = (now.0 + asked).rem_euclid(TICK_MS);
    Duration::from_millis((asked - early).unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_end_together_and_none_is_longer_than_was_asked_for() {
        let ends = |now: i64| now + i64::try_from(wait(1, Millis(now)).as_millis()).unwrap();
        assert_eq!(
            [ends(1_000), ends(1_249), ends(1_250)],
            [2_000, 2_000, 2_250]
        );
        assert_eq!(wait(900, Millis(0)), Duration::from_mins(15));
    }
}
