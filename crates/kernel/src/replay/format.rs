//! The bytes of a replay log. Version 1, little-endian.

use kiln_model::Millis;

use super::Fnv128;
use crate::keys::{InboxKey, TimerKey};
use crate::kv::MAX_VALUE;
use crate::runner::{Disposition, StepRecord};
use crate::slot::Slot;
use crate::wire::bytes::{field, i64_at, u32_at, u64_at};

pub(super) const HEADER: [u8; 8] = *b"KRL0\x01\0\0\0";

const LENGTH: usize = 4;
const CHECKSUM: usize = 16;
/// Everything of a body before the frame.
const FIXED: usize = 80;

/// One step of a log, with bytes of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    pub worker: u64,
    pub slot: Slot,
    pub prepared_at: Millis,
    pub applied_at: Millis,
    pub code: i32,
    pub disposition: Disposition,
    pub changes: Option<u128>,
    pub frame: Vec<u8>,
}

impl From<&StepRecord<'_>> for Logged {
    fn from(record: &StepRecord<'_>) -> Self {
        Self {
            worker: record.worker,
            slot: record.slot,
            prepared_at: record.prepared_at,
            applied_at: record.applied_at,
            code: record.code,
            disposition: record.disposition,
            changes: record.changes,
            frame: record.frame.to_vec(),
        }
    }
}

/// Why a log ends before its bytes do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    #[error("not a replay log of version 1")]
    Foreign,
    /// The last record was not written whole, as after a crash. What came before it is good.
    #[error("the record at byte {at} is cut off")]
    Torn { at: usize },
    #[error("the record at byte {at} is damaged")]
    Damaged { at: usize },
}

/// Reads a log record by record.
#[derive(Clone, Debug)]
pub struct LogReader<'a> {
    log: &'a [u8],
    at: usize,
    chain: u128,
    over: bool,
}

impl<'a> LogReader<'a> {
    pub fn new(log: &'a [u8]) -> Result<Self, LogError> {
        if log.len() < HEADER.len() && HEADER.starts_with(log) {
            return Err(LogError::Torn { at: 0 });
        }
        if !log.starts_with(&HEADER) {
            return Err(LogError::Foreign);
        }
        Ok(Self {
            log,
            at: HEADER.len(),
            chain: chain_start(),
            over: false,
        })
    }

    /// Where the next record starts; after an error, how much of the log is good.
    pub fn position(&self) -> usize {
        self.at
    }

    fn read(&mut self) -> Result<Logged, LogError> {
        let at = self.at;
        let rest = &self.log[at..];
        let length = rest.get(..LENGTH).map(|length| u32_at(length, 0) as usize);
        let length = length.ok_or(LogError::Torn { at })?;
        if !(FIXED..=FIXED + MAX_VALUE).contains(&length) {
            return Err(LogError::Damaged { at });
        }
        let whole = LENGTH + length + CHECKSUM;
        let record = rest.get(..whole).ok_or(LogError::Torn { at })?;
        let (body, checksum) = record[LENGTH..].split_at(length);
        let chain = checksum_of(self.chain, body);
        if checksum != chain.to_le_bytes() {
            return Err(LogError::Damaged { at });
        }
        let logged = decode(body).ok_or(LogError::Damaged { at })?;
        self.at += whole;
        self.chain = chain;
        Ok(logged)
    }
}

impl Iterator for LogReader<'_> {
    type Item = Result<Logged, LogError>;

    /// After an error the log is over: what follows cannot be trusted.
    fn next(&mut self) -> Option<Self::Item> {
        if self.over || self.at >= self.log.len() {
            return None;
        }
        let read = self.read();
        self.over = read.is_err();
        Some(read)
    }
}

pub(super) fn chain_start() -> u128 {
    Fnv128::new().finish()
}

/// Appends one record; the answer continues the chain.
pub(super) fn encode(record: &StepRecord<'_>, chain: u128, log: &mut Vec<u8>) -> u128 {
    let start = log.len();
    log.extend_from_slice(&[0; LENGTH]);
    encode_body(record, log);
    let length = log.len() - start - LENGTH;
    let stated = u32::try_from(length).expect("a frame is no longer than a stored value");
    log[start..start + LENGTH].copy_from_slice(&stated.to_le_bytes());
    let chain = checksum_of(chain, &log[start + LENGTH..]);
    log.extend_from_slice(&chain.to_le_bytes());
    chain
}

fn encode_body(record: &StepRecord<'_>, log: &mut Vec<u8>) {
    let (source, due) = match record.slot {
        Slot::Inbox(_) => (0, 0),
        Slot::Timer(key) => (1, key.due.0),
    };
    let (disposition, to_seq, failures) = match record.disposition {
        Disposition::Acked => (0, 0, 0),
        Disposition::Repeated => (1, 0, 0),
        Disposition::Requeued { seq, failures } => (2, seq, failures),
        Disposition::DeadLettered { seq, failures } => (3, seq, failures),
        Disposition::Kept => (4, 0, 0),
    };
    log.extend_from_slice(&[source, disposition, u8::from(record.changes.is_some()), 0]);
    log.extend_from_slice(&record.code.to_le_bytes());
    log.extend_from_slice(&record.worker.to_le_bytes());
    log.extend_from_slice(&record.slot.seq().to_le_bytes());
    log.extend_from_slice(&due.to_le_bytes());
    log.extend_from_slice(&record.prepared_at.0.to_le_bytes());
    log.extend_from_slice(&record.applied_at.0.to_le_bytes());
    log.extend_from_slice(&to_seq.to_le_bytes());
    log.extend_from_slice(&failures.to_le_bytes());
    log.extend_from_slice(&[0; 4]);
    log.extend_from_slice(&record.changes.unwrap_or(0).to_le_bytes());
    log.extend_from_slice(record.frame);
}

fn decode(body: &[u8]) -> Option<Logged> {
    let worker = u64_at(body, 8);
    let seq = u64_at(body, 16);
    let slot = match body[0] {
        0 => Slot::Inbox(InboxKey::new(worker, seq)),
        1 => Slot::Timer(TimerKey::new(Millis(i64_at(body, 24)), seq)),
        _ => return None,
    };
    let (to_seq, failures) = (u64_at(body, 48), u32_at(body, 56));
    let disposition = match body[1] {
        0 => Disposition::Acked,
        1 => Disposition::Repeated,
        2 => Disposition::Requeued {
            seq: to_seq,
            failures,
        },
        3 => Disposition::DeadLettered {
            seq: to_seq,
            failures,
        },
        4 => Disposition::Kept,
        _ => return None,
    };
    Some(Logged {
        worker,
        slot,
        prepared_at: Millis(i64_at(body, 32)),
        applied_at: Millis(i64_at(body, 40)),
        code: i32::from_le_bytes(field(body, 4)),
        disposition,
        changes: (body[2] != 0).then(|| u128::from_le_bytes(field(body, 64))),
        frame: body[FIXED..].to_vec(),
    })
}

fn checksum_of(chain: u128, body: &[u8]) -> u128 {
    let mut digest = Fnv128::new();
    digest.write(&chain.to_le_bytes());
    digest.write(body);
    digest.finish()
}
