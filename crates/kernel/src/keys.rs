//! Keys of every database, and the ranges of keys that belong together.

use kiln_model::Millis;

use crate::Status;
use crate::wire::bytes::field;

/// Where a row of an inbox or of the dead letters lies: worker, then sequence, both big-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InboxKey {
    pub worker: u64,
    pub seq: u64,
}

impl InboxKey {
    pub const LEN: usize = 16;

    pub const fn new(worker: u64, seq: u64) -> Self {
        Self { worker, seq }
    }

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        pair(self.worker.to_be_bytes(), self.seq.to_be_bytes())
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        expect_length("an inbox key", bytes, Self::LEN)?;
        Ok(Self {
            worker: be(bytes, 0),
            seq: be(bytes, 8),
        })
    }

    /// All rows of one worker: from the first to the second, exclusive; `None` is the end of the database.
    pub fn range_of(worker: u64) -> ([u8; Self::LEN], Option<[u8; Self::LEN]>) {
        let until = worker
            .checked_add(1)
            .map(|next| Self::new(next, 0).to_bytes());
        (Self::new(worker, 0).to_bytes(), until)
    }
}

/// Where a timer lies: due time in raw two's complement, then sequence, both big-endian.
///
/// The bytes are the original's, and they sort negative due times after positive ones. The order of this type is the
/// order of time instead; [`crate::timers`] reads the two halves of the database in that order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimerKey {
    pub due: Millis,
    pub seq: u64,
}

impl TimerKey {
    pub const LEN: usize = 16;

    pub const fn new(due: Millis, seq: u64) -> Self {
        Self { due, seq }
    }

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        pair(self.due.0.to_be_bytes(), self.seq.to_be_bytes())
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        expect_length("a timer key", bytes, Self::LEN)?;
        Ok(Self {
            due: Millis(i64::from_be_bytes(field(bytes, 0))),
            seq: be(bytes, 8),
        })
    }

    /// The key under which the running of this timer is leased.
    pub fn lease_key(self) -> [u8; TIMER_LEASE_LEN] {
        let mut key = [0; TIMER_LEASE_LEN];
        let (prefix, timer) = key.split_at_mut(TIMER_LEASE_PREFIX.len());
        prefix.copy_from_slice(TIMER_LEASE_PREFIX);
        timer.copy_from_slice(&self.to_bytes());
        key
    }
}

/// Where a message that leaves this kernel lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OutboxKey {
    pub seq: u64,
}

impl OutboxKey {
    pub const LEN: usize = 8;

    pub const fn new(seq: u64) -> Self {
        Self { seq }
    }

    pub fn to_bytes(self) -> [u8; Self::LEN] {
        self.seq.to_be_bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self, Status> {
        expect_length("an outbox key", bytes, Self::LEN)?;
        Ok(Self { seq: be(bytes, 0) })
    }
}

/// The key of the schema marker in [`crate::Dbi::APP_STATE`].
pub const SCHEMA_KEY: &[u8] = b"runner.schema.version";
pub const RETRY_PREFIX: &[u8] = b"retry:";
pub const DEDUPE_PREFIX: &[u8] = b"dedupe:";
pub const TIMER_LEASE_PREFIX: &[u8] = b"timer:";
pub const TIMER_LEASE_LEN: usize = TIMER_LEASE_PREFIX.len() + TimerKey::LEN;

/// Where the failures of a message are counted.
pub fn retry_key(id: &[u8]) -> Vec<u8> {
    [RETRY_PREFIX, id].concat()
}

/// Where it is remembered that a message was accepted. The prefix keeps a message whose id starts with `retry:`
/// from meeting a counter.
pub fn dedupe_key(id: &[u8]) -> Vec<u8> {
    [DEDUPE_PREFIX, id].concat()
}

/// The first key after all that start with `prefix`.
pub(crate) fn end_of_prefix(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    let last = end.last_mut().expect("the kernel's prefixes are not empty");
    *last = last
        .checked_add(1)
        .expect("the kernel's prefixes end in a colon");
    end
}

/// The smallest key greater than `key`.
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

fn pair(high: [u8; 8], low: [u8; 8]) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&high);
    key[8..].copy_from_slice(&low);
    key
}

fn be(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(field(bytes, at))
}

fn expect_length(what: &str, bytes: &[u8], length: usize) -> Result<(), Status> {
    if bytes.len() == length {
        return Ok(());
    }
    Err(Status::Corrupt(format!(
        "{what} has {length} bytes, not {}",
        bytes.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex;

    #[test]
    fn golden_keys() {
        assert_eq!(
            hex::encode(&InboxKey::new(7, 99).to_bytes()),
            "00000000000000070000000000000063"
        );
        let timer = TimerKey::new(Millis(1_700_000_000_123), 5);
        assert_eq!(
            hex::encode(&timer.to_bytes()),
            "0000018bcfe5687b0000000000000005"
        );
        assert_eq!(
            hex::encode(&OutboxKey::new(100).to_bytes()),
            "0000000000000064"
        );
        assert_eq!(hex::encode(&retry_key(b"m1")), "72657472793a6d31");
    }

    #[test]
    fn keys_survive_the_round_trip() {
        let inbox = InboxKey::new(u64::MAX, 3);
        assert_eq!(InboxKey::decode(&inbox.to_bytes()), Ok(inbox));
        let timer = TimerKey::new(Millis(-1), 3);
        assert_eq!(TimerKey::decode(&timer.to_bytes()), Ok(timer));
        assert_eq!(
            OutboxKey::decode(&OutboxKey::new(9).to_bytes()),
            Ok(OutboxKey::new(9))
        );
    }

    #[test]
    fn keys_of_another_length_are_refused() {
        for length in [0, 8, 15, 17] {
            let bytes = vec![0; length];
            assert!(InboxKey::decode(&bytes).is_err());
            assert!(TimerKey::decode(&bytes).is_err());
        }
        assert!(OutboxKey::decode(&[0; 16]).is_err());
    }

    #[test]
    fn the_last_worker_has_a_range_without_an_end() {
        assert_eq!(InboxKey::range_of(u64::MAX).1, None);
        assert_eq!(
            InboxKey::range_of(3).1,
            Some(InboxKey::new(4, 0).to_bytes())
        );
    }
}
