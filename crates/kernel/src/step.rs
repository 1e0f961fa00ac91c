//! One step as its handler sees it, and what it wants done when it commits.

use kiln_model::Millis;

use crate::inbox::{address, check_frame, frame_of};
use crate::slot::Slot;
use crate::wire::IntentView;
use crate::{Intent, KvTx, MessageView, Status, inbox, intents};

/// Where a step stands, and the intents it collects. They are routed after the handler is done, in order, in the same
/// transaction.
#[derive(Debug)]
pub struct Step {
    now: Millis,
    worker: u64,
    slot: Option<Slot>,
    attempt: u32,
    outgoing: Vec<Outgoing>,
}

#[derive(Debug)]
enum Outgoing {
    Intent(Intent),
    Send { worker: u64, frame: Vec<u8> },
}

impl Step {
    pub fn new(now: Millis, worker: u64, slot: Option<Slot>, attempt: u32) -> Self {
        Self {
            now,
            worker,
            slot,
            attempt,
            outgoing: Vec::new(),
        }
    }

    /// The time of this transaction. Decisions use it, never a clock: a replay hands in the recorded one.
    pub fn now(&self) -> Millis {
        self.now
    }

    pub fn worker(&self) -> u64 {
        self.worker
    }

    /// Where the frame lies; nothing when it was handed in directly.
    pub fn slot(&self) -> Option<Slot> {
        self.slot
    }

    /// The sequence of the row or timer, 0 when there is none.
    pub fn seq(&self) -> u64 {
        self.slot.map_or(0, Slot::seq)
    }

    /// Which attempt this is, counted from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Emits a message into the outbox.
    pub fn emit(&mut self, message: &MessageView<'_>) -> Result<(), Status> {
        self.push(Intent::OutboxEmit {
            message: frame_of(message)?,
        })
    }

    /// Arms a timer. Use [`crate::timers::arm_message`] when the step must remember how to cancel it.
    pub fn arm(&mut self, due: Millis, message: &MessageView<'_>) -> Result<(), Status> {
        self.push(Intent::TimerArm {
            due,
            message: frame_of(message)?,
        })
    }

    /// Sends a message to the tail of its worker's inbox.
    pub fn send(&mut self, message: &MessageView<'_>) -> Result<(), Status> {
        let (worker, frame) = address(message)?;
        self.outgoing.push(Outgoing::Send { worker, frame });
        Ok(())
    }

    /// Takes an intent of either kind.
    pub fn push(&mut self, intent: Intent) -> Result<(), Status> {
        check_frame(intent.view().message())?;
        self.outgoing.push(Outgoing::Intent(intent));
        Ok(())
    }

    /// Takes an encoded intent.
    pub fn push_frame(&mut self, frame: &[u8]) -> Result<(), Status> {
        self.push(IntentView::decode(frame)?.to_intent())
    }

    pub(crate) fn route<T: KvTx + ?Sized>(
        &mut self,
        tx: &mut T,
        sink: &intents::Sink,
    ) -> Result<(), Status> {
        for outgoing in self.outgoing.drain(..) {
            match outgoing {
                Outgoing::Intent(intent) => {
                    sink.publish(tx, &intent.view())?;
                }
                Outgoing::Send { worker, frame } => {
                    inbox::append(tx, worker, &frame)?;
                }
            }
        }
        Ok(())
    }
}
