//! Keys that mostly need no memory of their own: every key of the kernel with a fixed length fits inline.

use std::borrow::Borrow;
use std::cmp::Ordering;

use crate::keys::TIMER_LEASE_LEN;

#[derive(Clone)]
pub(super) enum Key {
    Short {
        length: u8,
        bytes: [u8; TIMER_LEASE_LEN],
    },
    Long(Box<[u8]>),
}

impl Key {
    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => &bytes[..usize::from(*length)],
            Self::Long(bytes) => bytes,
        }
    }
}

impl From<&[u8]> for Key {
    fn from(key: &[u8]) -> Self {
        match u8::try_from(key.len()) {
            Ok(length) if key.len() <= TIMER_LEASE_LEN => {
                let mut bytes = [0; TIMER_LEASE_LEN];
                bytes[..key.len()].copy_from_slice(key);
                Self::Short { length, bytes }
            }
            _ => Self::Long(key.into()),
        }
    }
}

impl Borrow<[u8]> for Key {
    fn borrow(&self) -> &[u8] {
        self.as_slice()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_slice().cmp(other.as_slice())
    }
}
