//! A hash that can be put down and taken up again, by another process if need be.

use kiln_model::{Algorithm, Digest};
use sha2::digest::common::hazmat::{SerializableState, SerializedState};
use sha2::{Digest as _, Sha256, Sha512};

#[derive(Clone, Debug)]
pub(crate) enum RunningHash {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl RunningHash {
    pub(crate) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    /// Takes up what [`save`](Self::save) put down; none when these are not such bytes. The states of the two are not
    /// equally long.
    pub(crate) fn resume(state: &[u8]) -> Option<Self> {
        if let Ok(state) = SerializedState::<Sha256>::try_from(state) {
            return Sha256::deserialize(&state).ok().map(Self::Sha256);
        }
        let state = SerializedState::<Sha512>::try_from(state).ok()?;
        Sha512::deserialize(&state).ok().map(Self::Sha512)
    }

    pub(crate) fn save(&self) -> Vec<u8> {
        match self {
            Self::Sha256(hash) => hash.serialize().to_vec(),
            Self::Sha512(hash) => hash.serialize().to_vec(),
        }
    }

    pub(crate) const fn algorithm(&self) -> Algorithm {
        match self {
            Self::Sha256(_) => Algorithm::Sha256,
            Self::Sha512(_) => Algorithm::Sha512,
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Digest {
        let digest = match self {
            Self::Sha256(hash) => Digest::from_hash(&hash.finalize()),
            Self::Sha512(hash) => Digest::from_hash(&hash.finalize()),
        };
        digest.expect("SHA-256 has 32 bytes, and SHA-512 has 64")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_put_down_anywhere_ends_as_if_it_had_not_been() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_000).collect();
        for (algorithm, whole) in [
            (
                Algorithm::Sha256,
                Digest::from_hash(&Sha256::digest(&bytes)),
            ),
            (
                Algorithm::Sha512,
                Digest::from_hash(&Sha512::digest(&bytes)),
            ),
        ] {
            for cut in [0, 1, 63, 64, 65, 127, 128, 129, 999, 1_000] {
                let mut hash = RunningHash::new(algorithm);
                hash.update(&bytes[..cut]);
                let mut hash = RunningHash::resume(&hash.save()).unwrap();
                assert_eq!(hash.algorithm(), algorithm);
                hash.update(&bytes[cut..]);
                assert_eq!(Some(hash.finish()), whole, "put down after {cut} bytes");
            }
        }
    }

    #[test]
    fn other_bytes_are_no_state() {
        assert!(RunningHash::resume(b"").is_none());
        assert!(RunningHash::resume(&[0xff; 105]).is_none());
        assert!(RunningHash::resume(&[0xff; 209]).is_none());
    }
}
