//! The schema marker: `RSV0`, major, minor.

use crate::Status;
use crate::wire::bytes::field;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SchemaVersion {
    pub major: u16,
    pub minor: u16,
}

impl SchemaVersion {
    pub const LEN: usize = 8;
    const MAGIC: [u8; 4] = *b"RSV0";

    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&Self::MAGIC);
        bytes[4..6].copy_from_slice(&self.major.to_le_bytes());
        bytes[6..].copy_from_slice(&self.minor.to_le_bytes());
        bytes
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        if bytes.len() != Self::LEN || bytes[..4] != Self::MAGIC {
            return Err(Status::Corrupt(
                "the schema marker is not RSV0 and two numbers".into(),
            ));
        }
        Ok(Self {
            major: u16::from_le_bytes(field(bytes, 4)),
            minor: u16::from_le_bytes(field(bytes, 6)),
        })
    }
}
