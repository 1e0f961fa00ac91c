//! `LINT`: what a handler wants done when its step commits.

use kiln_model::Millis;

use super::EncodeError;
use super::bytes::{check_head, i64_at, u32_at, widen};
use super::message::as_wire;
use crate::WireError;

pub const INTENT_HEADER: usize = 28;

const MAGIC: [u8; 4] = *b"LINT";
const OUTBOX_EMIT: u8 = 0;
const TIMER_ARM: u8 = 1;
const HAS_DUE: u8 = 0x01;

/// An intent as it lies in its frame. The body is the bytes of a message, not yet looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntentView<'a> {
    OutboxEmit { message: &'a [u8] },
    TimerArm { due: Millis, message: &'a [u8] },
}

impl<'a> IntentView<'a> {
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        let length = check_head(frame, MAGIC, INTENT_HEADER)?;
        let body = widen(u32_at(frame, 24));
        if body == 0 || body != length - INTENT_HEADER {
            return Err(WireError::Format);
        }
        let raw = RawIntent {
            kind: frame[12],
            flags: frame[13],
            due: i64_at(frame, 16),
            message: &frame[INTENT_HEADER..],
        };
        raw.check().map_err(|_| WireError::Format)
    }

    pub fn message(&self) -> &'a [u8] {
        match self {
            Self::OutboxEmit { message } | Self::TimerArm { message, .. } => message,
        }
    }

    pub fn due(&self) -> Option<Millis> {
        match self {
            Self::OutboxEmit { .. } => None,
            Self::TimerArm { due, .. } => Some(*due),
        }
    }

    pub fn encoded_len(&self) -> Result<usize, WireError> {
        let body = self.message().len();
        let total = INTENT_HEADER.checked_add(body).filter(|_| body > 0);
        total
            .filter(|length| u32::try_from(*length).is_ok())
            .ok_or(WireError::Invalid)
    }

    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let length = self.encoded_len()?;
        let (kind, flags, due) = match self {
            Self::OutboxEmit { .. } => (OUTBOX_EMIT, 0, 0),
            Self::TimerArm { due, .. } => (TIMER_ARM, HAS_DUE, due.0),
        };
        let mut frame = Vec::with_capacity(length);
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&as_wire(length)?.to_le_bytes());
        frame.extend_from_slice(&[kind, flags, 0, 0]);
        frame.extend_from_slice(&due.to_le_bytes());
        frame.extend_from_slice(&as_wire(self.message().len())?.to_le_bytes());
        frame.extend_from_slice(self.message());
        Ok(frame)
    }

    /// Writes into the caller's buffer; answers how much of it the frame takes.
    pub fn encode_into(&self, buffer: &mut [u8]) -> Result<usize, EncodeError> {
        let needed = self.encoded_len()?;
        let target = buffer
            .get_mut(..needed)
            .ok_or(EncodeError::TooBig { needed })?;
        target.copy_from_slice(&self.encode()?);
        Ok(needed)
    }

    pub fn to_intent(&self) -> Intent {
        match *self {
            Self::OutboxEmit { message } => Intent::OutboxEmit {
                message: message.to_vec(),
            },
            Self::TimerArm { due, message } => Intent::TimerArm {
                due,
                message: message.to_vec(),
            },
        }
    }
}

/// An intent that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    OutboxEmit { message: Vec<u8> },
    TimerArm { due: Millis, message: Vec<u8> },
}

impl Intent {
    pub fn view(&self) -> IntentView<'_> {
        match self {
            Self::OutboxEmit { message } => IntentView::OutboxEmit { message },
            Self::TimerArm { due, message } => IntentView::TimerArm { due: *due, message },
        }
    }

    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        IntentView::decode(frame).map(|view| view.to_intent())
    }

    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        self.view().encode()
    }
}

/// The fields as numbers, before anybody knows whether they make an intent.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawIntent<'a> {
    pub kind: u8,
    pub flags: u8,
    pub due: i64,
    pub message: &'a [u8],
}

impl<'a> RawIntent<'a> {
    /// The checks of the original's encoder: an emit has no due time, an arm must have one.
    pub fn check(&self) -> Result<IntentView<'a>, WireError> {
        if self.message.is_empty() {
            return Err(WireError::Invalid);
        }
        let message = self.message;
        match (self.kind, self.flags) {
            (OUTBOX_EMIT, 0) if self.due == 0 => Ok(IntentView::OutboxEmit { message }),
            (TIMER_ARM, HAS_DUE) => Ok(IntentView::TimerArm {
                due: Millis(self.due),
                message,
            }),
            _ => Err(WireError::Invalid),
        }
    }
}
