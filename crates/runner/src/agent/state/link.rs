//! The channel as the state machine sees it.

use std::time::Duration;

use kiln_model::Millis;

use super::duty::Duty;
use crate::agent::backoff;
use crate::agent::event::Moment;
use crate::agent::limits::{
    CONNECT_LONGEST, DELIVERY_PATIENCE, DIAL_PATIENCE, HEARTBEAT_INTERVAL, HEARTBEAT_PATIENCE,
    POLL_PATIENCE, POLL_SECONDS,
};

#[derive(Debug)]
pub(super) enum Link {
    Down { attempts: u32, retry_at: Millis },
    Dialing { attempts: u32, since: Millis },
    Up(Talk),
}

/// An open channel.
#[derive(Debug)]
pub(super) struct Talk {
    /// Attempts until the server says something: one that only accepts and closes is not there yet.
    attempts: u32,
    /// Messages before the terminal one that the server has yet to answer.
    pub(super) unanswered: u32,
    /// Since when the server is silent though it owes an answer.
    silent_since: Millis,
    pub(super) beat_at: Millis,
    pub(super) close_by: Option<Millis>,
}

impl Link {
    pub(super) fn lost(&self, moment: Moment) -> Self {
        let attempts = match self {
            Self::Down { attempts, .. } | Self::Dialing { attempts, .. } => *attempts,
            Self::Up(talk) => talk.attempts,
        };
        Self::Down {
            attempts: attempts.saturating_add(1),
            retry_at: moment.now + backoff::delay(attempts, moment.jitter, CONNECT_LONGEST),
        }
    }

    /// When the server will have been waited for long enough.
    pub(super) fn deadline(&self, duty: &Duty) -> Option<Millis> {
        match self {
            Self::Down { .. } => None,
            Self::Dialing { since, .. } => Some(*since + DIAL_PATIENCE),
            Self::Up(talk) => talk.close_by.or_else(|| talk.answer_by(duty)),
        }
    }

    /// When something is due on the channel.
    pub(super) fn wake(&self, duty: &Duty) -> Option<Millis> {
        let due = match self {
            Self::Down { retry_at, .. } => Some(*retry_at),
            Self::Up(talk) if duty.is_leased() => Some(talk.beat_at),
            Self::Dialing { .. } | Self::Up(_) => None,
        };
        [due, self.deadline(duty)].into_iter().flatten().min()
    }
}

impl Talk {
    pub(super) fn new(attempts: u32, now: Millis) -> Self {
        Self {
            attempts,
            unanswered: 0,
            silent_since: now,
            beat_at: now,
            close_by: None,
        }
    }

    pub(super) const fn heard(&mut self, now: Millis) {
        self.attempts = 0;
        self.silent_since = now;
    }

    /// Nobody waited for an answer until now, however long the server was silent.
    pub(super) const fn wait_from(&mut self, now: Millis) {
        self.silent_since = now;
    }

    pub(super) fn sent_counted(&mut self, now: Millis) {
        if self.unanswered == 0 {
            self.silent_since = now;
        }
        self.unanswered = self.unanswered.saturating_add(1);
        self.beat_at = now + HEARTBEAT_INTERVAL;
    }

    fn answer_by(&self, duty: &Duty) -> Option<Millis> {
        match duty {
            Duty::Free { asked_at, .. } => {
                let poll = Duration::from_secs(u64::from(POLL_SECONDS));
                asked_at.map(|at| at + poll + POLL_PATIENCE)
            }
            Duty::SettingUp { .. } | Duty::Executing { .. } => self.beat_answered_by(),
            Duty::Stopping { .. } | Duty::Spooling { .. } => None,
            Duty::Delivering {
                sent_at: Some(at), ..
            } => Some(*at + DELIVERY_PATIENCE),
            Duty::Delivering { sent_at: None, .. } => {
                self.beat_answered_by().filter(|_| duty.is_leased())
            }
        }
    }

    fn beat_answered_by(&self) -> Option<Millis> {
        (self.unanswered > 0).then(|| self.silent_since + HEARTBEAT_PATIENCE)
    }
}
