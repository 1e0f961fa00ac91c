//! A SHA-256 that can be put down and taken up again, by another process if need be.

use kiln_model::Digest;
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest as _, Sha256};

#[derive(Clone, Debug, Default)]
pub(crate) struct RunningHash(Sha256);

impl RunningHash {
    /// Takes up what [`save`](Self::save) put down; none when these are not such bytes.
    pub(crate) fn resume(state: &[u8]) -> Option<Self> {
        let state = SerializedState::<Sha256>::try_from(state).ok()?;
        Sha256::deserialize(&state).ok().map(Self)
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        self.0.serialize().to_vec()
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Digest {
        Digest::from_hash(&self.0.finalize()).expect("SHA-256 has 32 bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_put_down_anywhere_ends_as_if_it_had_not_been() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        let whole = Digest::from_hash(&Sha256::digest(&bytes)).unwrap();
        for cut in [0, 1, 63, 64, 65, 999, 1_000] {
            let mut hash = RunningHash::default();
            hash.update(&bytes[..cut]);
            let mut hash = RunningHash::resume(&hash.save()).unwrap();
            hash.update(&bytes[cut..]);
            assert_eq!(hash.finish(), whole, "put down after {cut} bytes");
        }
    }

    #[test]
    fn other_bytes_are_no_state() {
        assert!(RunningHash::resume(b"").is_none());
        assert!(RunningHash::resume(&[0xff; 105]).is_none());
    }
}
