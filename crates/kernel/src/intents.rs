//! Where intents go: an emit into the outbox, an arm into the timers, in the transaction of the step that had them.

use crate::keys::TimerKey;
use crate::wire::IntentView;
use crate::{KvTx, Status, outbox, timers};

/// Numbers that the sequences of published intents do not fall below: the host's choice, 0 by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sink {
    pub outbox_floor: u64,
    pub timer_floor: u64,
}

/// Where an intent went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    Outbox(u64),
    Timer(TimerKey),
}

impl Sink {
    /// Routes an intent of either kind.
    pub fn publish<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        intent: &IntentView<'_>,
    ) -> Result<Published, Status> {
        match *intent {
            IntentView::OutboxEmit { message } => {
                outbox::append_from(tx, self.outbox_floor, message).map(Published::Outbox)
            }
            IntentView::TimerArm { due, message } => {
                timers::arm_from(tx, due, self.timer_floor, message).map(Published::Timer)
            }
        }
    }

    /// Routes an encoded intent; bytes that are none are [`Status::Corrupt`].
    pub fn publish_frame<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        frame: &[u8],
    ) -> Result<Published, Status> {
        self.publish(tx, &decode(frame)?)
    }

    /// Publishes an emit and refuses anything else.
    pub fn publish_to_outbox<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        frame: &[u8],
    ) -> Result<u64, Status> {
        match decode(frame)? {
            IntentView::OutboxEmit { message } => {
                outbox::append_from(tx, self.outbox_floor, message)
            }
            IntentView::TimerArm { .. } => Err(wrong_kind("the outbox takes no timer")),
        }
    }

    /// Publishes an arm and refuses anything else.
    pub fn publish_to_timers<T: KvTx + ?Sized>(
        &self,
        tx: &mut T,
        frame: &[u8],
    ) -> Result<TimerKey, Status> {
        match decode(frame)? {
            IntentView::TimerArm { due, message } => {
                timers::arm_from(tx, due, self.timer_floor, message)
            }
            IntentView::OutboxEmit { .. } => Err(wrong_kind("the timers take no message")),
        }
    }
}

fn decode(frame: &[u8]) -> Result<IntentView<'_>, Status> {
    IntentView::decode(frame).map_err(|wire| Status::Corrupt(format!("an intent: {wire}")))
}

fn wrong_kind(what: &str) -> Status {
    Status::Error(what.into())
}
