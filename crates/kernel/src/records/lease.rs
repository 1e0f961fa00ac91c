//! The lease record: who runs a row, until when, and how often it was claimed.

use kiln_model::Millis;

use crate::Status;
use crate::wire::bytes::{i64_at, u32_at, u64_at};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lease {
    pub owner: u64,
    pub deadline: Millis,
    pub attempts: u32,
}

impl Lease {
    pub const LEN: usize = 24;
    const MAGIC: [u8; 4] = *b"LSE0";

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&Self::MAGIC);
        bytes[4..12].copy_from_slice(&self.owner.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.deadline.0.to_le_bytes());
        bytes[20..].copy_from_slice(&self.attempts.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        if bytes.len() != Self::LEN || bytes[..4] != Self::MAGIC {
            return Err(Status::Corrupt(
                "a lease is not LSE0 and its three numbers".into(),
            ));
        }
        Ok(Self {
            owner: u64_at(bytes, 4),
            deadline: Millis(i64_at(bytes, 12)),
            attempts: u32_at(bytes, 20),
        })
    }

    /// Whether it still excludes others. The last millisecond belongs to the holder.
    pub fn is_live(&self, now: Millis) -> bool {
        now <= self.deadline
    }
}
