//! The dead-letter record: why a frame was given up, after how many failures, and the frame.

use crate::Status;
use crate::wire::bytes::{field, u32_at};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadLetter {
    /// The code of the last failure, as [`Status::code`] numbers them.
    pub failure: i32,
    /// How often it failed; 0 for a frame that never decoded.
    pub attempts: u32,
    pub frame: Vec<u8>,
}

impl DeadLetter {
    pub const HEADER: usize = 16;
    const MAGIC: [u8; 4] = *b"DLQ0";

    pub fn encode(&self) -> Result<Vec<u8>, Status> {
        Self::encode_parts(self.failure, self.attempts, &self.frame)
    }

    pub(crate) fn encode_parts(
        failure: i32,
        attempts: u32,
        frame: &[u8],
    ) -> Result<Vec<u8>, Status> {
        if frame.is_empty() {
            return Err(Status::Corrupt("a dead letter without a frame".into()));
        }
        let length = u32::try_from(frame.len()).map_err(|_| Status::Full)?;
        let mut bytes = Vec::with_capacity(Self::HEADER + frame.len());
        bytes.extend_from_slice(&Self::MAGIC);
        bytes.extend_from_slice(&failure.to_le_bytes());
        bytes.extend_from_slice(&attempts.to_le_bytes());
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(frame);
        Ok(bytes)
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        let broken = || Status::Corrupt("a dead letter is not DLQ0, a header and a frame".into());
        if bytes.len() <= Self::HEADER || bytes[..4] != Self::MAGIC {
            return Err(broken());
        }
        let frame = &bytes[Self::HEADER..];
        if usize::try_from(u32_at(bytes, 12)) != Ok(frame.len()) {
            return Err(broken());
        }
        Ok(Self {
            failure: i32::from_le_bytes(field(bytes, 4)),
            attempts: u32_at(bytes, 8),
            frame: frame.to_vec(),
        })
    }
}
