//! Which of the programs that the server offers are taken, and when an offer is invited.

use kiln_model::Millis;

use crate::agent::backoff;
use crate::agent::event::Moment;
use crate::agent::limits::{OFFER_INTERVAL, UPDATE_LONGEST};
use crate::{Offer, Updates};

#[derive(Debug)]
pub(super) struct Offers {
    wanted: bool,
    /// The checksum of a program that does not work here.
    refused: Option<String>,
    /// From when on the server is told what the runner is, which invites an offer.
    invite_from: Option<Millis>,
}

impl Offers {
    /// None is taken. What is offered will tell.
    pub(super) const fn unwanted(now: Millis) -> Self {
        Self {
            wanted: false,
            refused: None,
            invite_from: Some(now),
        }
    }

    /// After a program could not be fetched, the next try is put off.
    pub(super) fn wanted(updates: &Updates, moment: Moment) -> Self {
        let wait = updates
            .failures
            .checked_sub(1)
            .map(|retries| backoff::delay(retries, moment.jitter, UPDATE_LONGEST));
        Self {
            wanted: true,
            refused: updates.refused.clone(),
            invite_from: Some(moment.now + wait.unwrap_or_default()),
        }
    }

    pub(super) fn are_invited(&self, now: Millis) -> bool {
        self.invite_from.is_some_and(|from| now >= from)
    }

    /// Some servers offer without being invited.
    pub(super) fn would_take(&self, offer: &Offer, now: Millis) -> bool {
        let refused = self.refused.as_deref();
        let is_refused = refused.is_some_and(|refused| offer.has_checksum(refused));
        self.wanted && self.are_invited(now) && !is_refused
    }

    /// The server would make the same offer again, in place of a job. Who wants a later one asks for it from time to time.
    pub(super) fn declined(&mut self, now: Millis) {
        if !self.wanted {
            self.invite_from = None;
        } else if self.are_invited(now) {
            self.invite_from = Some(now + OFFER_INTERVAL);
        }
    }
}
