//! `LMSG`: one message to one worker.

use super::EncodeError;
use super::bytes::{check_head, i64_at, u32_at, widen};
use crate::WireError;

pub const MESSAGE_HEADER: usize = 60;

const MAGIC: [u8; 4] = *b"LMSG";
const NO_TRACE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    Command,
    Event,
    Timer,
}

impl Kind {
    pub const fn code(self) -> u8 {
        match self {
            Self::Command => 0,
            Self::Event => 1,
            Self::Timer => 2,
        }
    }

    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Command),
            1 => Some(Self::Event),
            2 => Some(Self::Timer),
            _ => None,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Event => "event",
            Self::Timer => "timer",
        }
    }
}

/// What the sender asks for. The two presence bits of the wire are not here: an `Option` says the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    bits: u8,
}

impl Flags {
    pub const NONE: Self = Self { bits: 0 };
    pub const DURABLE: Self = Self { bits: 0x01 };
    pub const HIGH_PRIORITY: Self = Self { bits: 0x02 };
    pub const DEDUPE_REQUIRED: Self = Self { bits: 0x04 };
    pub const REQUIRES_ACK: Self = Self { bits: 0x08 };

    pub const fn bits(self) -> u8 {
        self.bits
    }

    pub const fn contains(self, other: Self) -> bool {
        self.bits & other.bits == other.bits
    }

    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self {
            bits: self.bits | other.bits,
        }
    }
}

const ASKED: u8 = 0x0f;
const HAS_FROM: u8 = 0x10;
const HAS_TRACE: u8 = 0x20;
const KNOWN: u8 = 0x3f;

/// A message as it lies in its frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageView<'a> {
    pub kind: Kind,
    pub flags: Flags,
    pub to_worker: i64,
    pub route_worker: i64,
    pub route_timestamp: i64,
    pub from_worker: Option<i64>,
    pub id: &'a [u8],
    pub trace_id: Option<&'a [u8]>,
    pub payload: &'a [u8],
}

impl<'a> MessageView<'a> {
    /// Reads a whole frame. The checks come in the original's order, so that a frame with two faults gets the same
    /// code from both.
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        let length = check_head(frame, MAGIC, MESSAGE_HEADER)?;
        let kind = Kind::from_code(frame[12]).ok_or(WireError::Format)?;
        let flags = frame[13];
        let (id, trace, payload) = (u32_at(frame, 48), u32_at(frame, 52), u32_at(frame, 56));
        let traced = flags & HAS_TRACE != 0;
        if flags & !KNOWN != 0 || id == 0 || traced == (trace == NO_TRACE) {
            return Err(WireError::Format);
        }
        let trace = if traced { trace } else { 0 };
        let stated = [id, trace, payload].into_iter().map(u64::from).sum::<u64>();
        if stated != (length - MESSAGE_HEADER) as u64 {
            return Err(WireError::Format);
        }
        let (id, rest) = frame[MESSAGE_HEADER..].split_at(widen(id));
        let (trace, payload) = rest.split_at(widen(trace));
        Ok(Self {
            kind,
            flags: Flags {
                bits: flags & ASKED,
            },
            to_worker: i64_at(frame, 16),
            route_worker: i64_at(frame, 24),
            route_timestamp: i64_at(frame, 32),
            from_worker: (flags & HAS_FROM != 0).then(|| i64_at(frame, 40)),
            id,
            trace_id: traced.then_some(trace),
            payload,
        })
    }

    /// How long the frame will be.
    pub fn encoded_len(&self) -> Result<usize, WireError> {
        if self.id.is_empty() {
            return Err(WireError::Invalid);
        }
        let parts = [
            self.id.len(),
            self.trace_id.map_or(0, <[u8]>::len),
            self.payload.len(),
        ];
        let total = parts
            .into_iter()
            .try_fold(MESSAGE_HEADER, usize::checked_add);
        total
            .filter(|length| u32::try_from(*length).is_ok())
            .ok_or(WireError::Invalid)
    }

    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        let mut frame = Vec::with_capacity(self.encoded_len()?);
        self.append_to(&mut frame)?;
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

    /// Whether this worker is the one meant.
    pub fn is_for(&self, worker: u64) -> bool {
        u64::try_from(self.to_worker) == Ok(worker)
    }

    /// The flag byte as it stands on the wire, presence bits included.
    pub fn wire_flags(&self) -> u8 {
        let from = if self.from_worker.is_some() {
            HAS_FROM
        } else {
            0
        };
        let trace = if self.trace_id.is_some() {
            HAS_TRACE
        } else {
            0
        };
        self.flags.bits | from | trace
    }

    pub fn to_message(&self) -> Message {
        Message {
            kind: self.kind,
            flags: self.flags,
            to_worker: self.to_worker,
            route_worker: self.route_worker,
            route_timestamp: self.route_timestamp,
            from_worker: self.from_worker,
            id: self.id.to_vec(),
            trace_id: self.trace_id.map(<[u8]>::to_vec),
            payload: self.payload.to_vec(),
        }
    }

    fn append_to(&self, frame: &mut Vec<u8>) -> Result<(), WireError> {
        let length = as_wire(self.encoded_len()?)?;
        frame.extend_from_slice(&MAGIC);
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(&length.to_le_bytes());
        frame.extend_from_slice(&[self.kind.code(), self.wire_flags(), 0, 0]);
        let from = self.from_worker.unwrap_or(0);
        for number in [
            self.to_worker,
            self.route_worker,
            self.route_timestamp,
            from,
        ] {
            frame.extend_from_slice(&number.to_le_bytes());
        }
        let trace = match self.trace_id {
            Some(trace) => as_wire(trace.len())?,
            None => NO_TRACE,
        };
        for length in [as_wire(self.id.len())?, trace, as_wire(self.payload.len())?] {
            frame.extend_from_slice(&length.to_le_bytes());
        }
        frame.extend_from_slice(self.id);
        frame.extend_from_slice(self.trace_id.unwrap_or_default());
        frame.extend_from_slice(self.payload);
        Ok(())
    }
}

/// A message that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub kind: Kind,
    pub flags: Flags,
    pub to_worker: i64,
    pub route_worker: i64,
    pub route_timestamp: i64,
    pub from_worker: Option<i64>,
    pub id: Vec<u8>,
    pub trace_id: Option<Vec<u8>>,
    pub payload: Vec<u8>,
}

impl Message {
    /// A durable message of `kind`, routed back to its own worker.
    pub fn new(
        kind: Kind,
        to_worker: i64,
        id: impl Into<Vec<u8>>,
        payload: impl Into<Vec<u8>>,
    ) -> Self {
        Self {
            kind,
            flags: Flags::DURABLE,
            to_worker,
            route_worker: to_worker,
            route_timestamp: 0,
            from_worker: None,
            id: id.into(),
            trace_id: None,
            payload: payload.into(),
        }
    }

    pub fn view(&self) -> MessageView<'_> {
        MessageView {
            kind: self.kind,
            flags: self.flags,
            to_worker: self.to_worker,
            route_worker: self.route_worker,
            route_timestamp: self.route_timestamp,
            from_worker: self.from_worker,
            id: &self.id,
            trace_id: self.trace_id.as_deref(),
            payload: &self.payload,
        }
    }

    pub fn decode(frame: &[u8]) -> Result<Self, WireError> {
        MessageView::decode(frame).map(|view| view.to_message())
    }

    pub fn encode(&self) -> Result<Vec<u8>, WireError> {
        self.view().encode()
    }
}

/// The fields as numbers, before anybody knows whether they make a message: what a tool reads from its user.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawMessage<'a> {
    pub kind: u8,
    pub flags: u8,
    pub to_worker: i64,
    pub route_worker: i64,
    pub route_timestamp: i64,
    pub from_worker: i64,
    pub id: &'a [u8],
    pub trace_id: &'a [u8],
    pub payload: &'a [u8],
}

impl<'a> RawMessage<'a> {
    /// The checks of the original's encoder.
    pub fn check(&self) -> Result<MessageView<'a>, WireError> {
        let kind = Kind::from_code(self.kind).ok_or(WireError::Invalid)?;
        let traced = self.flags & HAS_TRACE != 0;
        let sent_by = self.flags & HAS_FROM != 0;
        let impossible = self.flags & !KNOWN != 0
            || self.id.is_empty()
            || (!traced && !self.trace_id.is_empty())
            || (!sent_by && self.from_worker != 0);
        if impossible {
            return Err(WireError::Invalid);
        }
        let view = MessageView {
            kind,
            flags: Flags {
                bits: self.flags & ASKED,
            },
            to_worker: self.to_worker,
            route_worker: self.route_worker,
            route_timestamp: self.route_timestamp,
            from_worker: sent_by.then_some(self.from_worker),
            id: self.id,
            trace_id: traced.then_some(self.trace_id),
            payload: self.payload,
        };
        view.encoded_len()?;
        Ok(view)
    }
}

pub(super) fn as_wire(length: usize) -> Result<u32, WireError> {
    u32::try_from(length).map_err(|_| WireError::Invalid)
}
