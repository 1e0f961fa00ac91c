//! The dedupe record: that a message id was accepted, and when it was last seen.

use kiln_model::Millis;

use crate::Status;
use crate::wire::bytes::i64_at;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DedupeRecord {
    pub accepted: bool,
    pub last_seen: Millis,
    checksum: Vec<u8>,
}

impl DedupeRecord {
    pub const HEADER: usize = 9;
    /// A checksum is at most a SHA-256; longer ones are cut.
    pub const MAX_CHECKSUM: usize = 32;

    pub fn accepted_at(now: Millis) -> Self {
        Self {
            accepted: true,
            last_seen: now,
            checksum: Vec::new(),
        }
    }

    #[must_use]
    pub fn with_checksum(mut self, checksum: &[u8]) -> Self {
        self.checksum = checksum[..checksum.len().min(Self::MAX_CHECKSUM)].to_vec();
        self
    }

    pub fn checksum(&self) -> &[u8] {
        &self.checksum
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(Self::HEADER + self.checksum.len());
        bytes.push(u8::from(self.accepted));
        bytes.extend_from_slice(&self.last_seen.0.to_le_bytes());
        bytes.extend_from_slice(&self.checksum);
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        let limits = Self::HEADER..=Self::HEADER + Self::MAX_CHECKSUM;
        if !limits.contains(&bytes.len()) || bytes[0] > 1 {
            return Err(Status::Corrupt(
                "a dedupe record is not a flag, a time and a checksum".into(),
            ));
        }
        Ok(Self {
            accepted: bytes[0] == 1,
            last_seen: Millis(i64_at(bytes, 1)),
            checksum: bytes[Self::HEADER..].to_vec(),
        })
    }

    /// Whether a message seen at `now` is a repetition: accepted no longer than `window_ms` ago (0 = for ever).
    pub fn covers(&self, now: Millis, window_ms: i64) -> bool {
        self.accepted && (window_ms <= 0 || now.0.saturating_sub(self.last_seen.0) <= window_ms)
    }
}
