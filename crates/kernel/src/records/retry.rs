//! The retry counter: how often a message has failed since it last succeeded.

use crate::Status;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RetryCount(pub u32);

impl RetryCount {
    pub const LEN: usize = 4;

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        self.0.to_le_bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        let bytes = bytes.try_into().map_err(|_| {
            Status::Corrupt(format!("a retry counter has 4 bytes, not {}", bytes.len()))
        })?;
        Ok(Self(u32::from_le_bytes(bytes)))
    }

    /// One failure more; a counter at its end is [`Status::Full`].
    pub fn next(self) -> Result<Self, Status> {
        self.0.checked_add(1).map(Self).ok_or(Status::Full)
    }
}
