//! The fingerprint of what a step changed.

use crate::Dbi;
use crate::keys::{InboxKey, TimerKey};

/// FNV-1a with 128 bits: small, fast, the same everywhere. It finds accidents, not forgeries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fnv128(u128);

impl Fnv128 {
    const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub const fn new() -> Self {
        Self(Self::OFFSET)
    }

    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }

    /// A field whose end is part of the digest, so that `ab, c` and `a, bc` differ.
    pub fn write_field(&mut self, bytes: &[u8]) {
        self.write(&(bytes.len() as u64).to_le_bytes());
        self.write(bytes);
    }

    pub const fn finish(self) -> u128 {
        self.0
    }
}

impl Default for Fnv128 {
    fn default() -> Self {
        Self::new()
    }
}

/// Folds the changes of a transaction, in order, and follows its nested frames.
///
/// Sequence numbers that the kernel hands out are left out of the keys of inbox, outbox, timers and dead letters: they
/// depend on what else arrived, and a step that sends the same message to the same worker has done the same.
#[derive(Clone, Debug, Default)]
pub struct ChangeDigest {
    current: Fnv128,
    outer: Vec<Fnv128>,
}

impl ChangeDigest {
    pub fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) {
        self.change(b'+', dbi, key);
        self.current.write_field(value);
    }

    pub fn delete(&mut self, dbi: Dbi, key: &[u8]) {
        self.change(b'-', dbi, key);
    }

    pub fn begin_nested(&mut self) {
        self.outer.push(self.current);
    }

    pub fn commit_nested(&mut self) {
        self.outer.pop();
    }

    pub fn rollback_nested(&mut self) {
        if let Some(before) = self.outer.pop() {
            self.current = before;
        }
    }

    pub fn finish(&self) -> u128 {
        self.current.finish()
    }

    fn change(&mut self, operation: u8, dbi: Dbi, key: &[u8]) {
        self.current.write(&[operation, dbi.0]);
        self.current.write_field(without_sequence(dbi, key));
    }
}

fn without_sequence(dbi: Dbi, key: &[u8]) -> &[u8] {
    const SEQUENCE: usize = size_of::<u64>();
    match dbi {
        Dbi::OUTBOX => &[],
        Dbi::INBOX | Dbi::DEAD_LETTER if key.len() == InboxKey::LEN => &key[..SEQUENCE],
        Dbi::TIMERS if key.len() == TimerKey::LEN => &key[..SEQUENCE],
        _ => key,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_fnv_1a_with_128_bits() {
        let mut digest = Fnv128::new();
        digest.write(b"a");
        assert_eq!(digest.finish(), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn handed_out_sequences_do_not_count_and_workers_do() {
        let of = |worker, seq| {
            let mut digest = ChangeDigest::default();
            digest.put(Dbi::INBOX, &InboxKey::new(worker, seq).to_bytes(), b"frame");
            digest.finish()
        };
        assert_eq!(of(1, 1), of(1, 2));
        assert_ne!(of(1, 1), of(2, 1));
    }

    #[test]
    fn a_frame_that_was_undone_leaves_no_trace() {
        let mut digest = ChangeDigest::default();
        digest.put(Dbi::APP_STATE, b"a", b"1");
        let before = digest.finish();
        digest.begin_nested();
        digest.put(Dbi::APP_STATE, b"b", b"2");
        assert_ne!(digest.finish(), before);
        digest.rollback_nested();
        assert_eq!(digest.finish(), before);
    }
}
