//! A place that holds one frame to run: a row of an inbox, or a timer. Claiming, guarding and removing are the same
//! for both; only the keys differ.

use crate::Dbi;
use crate::keys::{InboxKey, TIMER_LEASE_LEN, TimerKey};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    Inbox(InboxKey),
    Timer(TimerKey),
}

impl Slot {
    pub const fn dbi(self) -> Dbi {
        match self {
            Self::Inbox(_) => Dbi::INBOX,
            Self::Timer(_) => Dbi::TIMERS,
        }
    }

    pub fn key(self) -> [u8; 16] {
        match self {
            Self::Inbox(key) => key.to_bytes(),
            Self::Timer(key) => key.to_bytes(),
        }
    }

    pub const fn seq(self) -> u64 {
        match self {
            Self::Inbox(key) => key.seq,
            Self::Timer(key) => key.seq,
        }
    }

    /// Where its lease lies: an inbox row's under the same key, a timer's under a prefix of its own.
    pub fn lease_key(self) -> LeaseKey {
        match self {
            Self::Inbox(key) => {
                let mut bytes = [0; TIMER_LEASE_LEN];
                bytes[..InboxKey::LEN].copy_from_slice(&key.to_bytes());
                LeaseKey {
                    bytes,
                    length: InboxKey::LEN,
                }
            }
            Self::Timer(key) => LeaseKey {
                bytes: key.lease_key(),
                length: TIMER_LEASE_LEN,
            },
        }
    }
}

/// The key of a slot's lease, without an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseKey {
    bytes: [u8; TIMER_LEASE_LEN],
    length: usize,
}

impl LeaseKey {
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
