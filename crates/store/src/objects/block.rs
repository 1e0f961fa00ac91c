//! Checksums of blocks, so that a part of an object can be trusted without reading the whole.

use kiln_model::{Algorithm, Digest};
use sha2::{Digest as _, Sha256, Sha512};

use super::key::ObjectKey;

/// Objects longer than this have checksums of their own for every so many bytes.
pub(super) const BLOCK: usize = 1 << 20;
pub(super) const CHECKSUM_SUFFIX: &str = ".blocks";

const HASH: usize = 32;

/// Where the checksums of an object lie. The digest is part of the name, so that replacing an object never leaves one
/// content with the checksums of another.
pub(super) fn checksum_name(key: &ObjectKey, digest: &Digest) -> String {
    format!("{}/{}", checksum_directory(key), &digest.hex()[..16])
}

/// Where the checksums of every content lie that the name ever had.
pub(super) fn checksum_directory(key: &ObjectKey) -> String {
    format!("{key}{CHECKSUM_SUFFIX}")
}

/// The SHA-256 of every block, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Blocks(Vec<[u8; HASH]>);

impl Blocks {
    pub(super) fn encode(&self) -> Vec<u8> {
        self.0.concat()
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (hashes, rest) = bytes.as_chunks::<HASH>();
        rest.is_empty().then(|| Self(hashes.to_vec()))
    }

    pub(super) fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Whether `bytes` are what block number `index` was when it was written.
    pub(super) fn matches(&self, index: usize, bytes: &[u8]) -> bool {
        self.0
            .get(index)
            .is_some_and(|hash| hash[..] == Sha256::digest(bytes)[..])
    }
}

/// Hashes the blocks of a stream.
#[derive(Debug, Default)]
pub(super) struct BlockHasher {
    done: Vec<[u8; HASH]>,
    current: Sha256,
    filled: usize,
}

impl BlockHasher {
    pub(super) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (head, tail) = bytes.split_at(bytes.len().min(BLOCK - self.filled));
            self.current.update(head);
            self.filled += head.len();
            if self.filled == BLOCK {
                self.end_block();
            }
            bytes = tail;
        }
    }

    pub(super) fn finish(mut self) -> Blocks {
        if self.filled > 0 {
            self.end_block();
        }
        Blocks(self.done)
    }

    fn end_block(&mut self) {
        self.done.push(self.current.finalize_reset().into());
        self.filled = 0;
    }
}

/// Hashes a whole object by the algorithm of its digest.
#[derive(Debug)]
pub(super) enum WholeHasher {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl WholeHasher {
    pub(super) fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn finish(self) -> Digest {
        let digest = match self {
            Self::Sha256(hasher) => Digest::from_hash(&hasher.finalize()),
            Self::Sha512(hasher) => Digest::from_hash(&hasher.finalize()),
        };
        digest.expect("both algorithms make hashes that a digest holds")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_depend_on_how_the_bytes_arrive() {
        let bytes: Vec<u8> = (0..BLOCK * 2 + 7)
            .map(|i| u8::try_from(i % 251).unwrap())
            .collect();
        let mut whole = BlockHasher::default();
        whole.update(&bytes);
        let mut pieces = BlockHasher::default();
        bytes.chunks(333_333).for_each(|piece| pieces.update(piece));
        let whole = whole.finish();
        assert_eq!(whole, pieces.finish());
        assert!(whole.matches(2, &bytes[BLOCK * 2..]));
        assert!(!whole.matches(1, &bytes[..BLOCK]));
        assert_eq!(Blocks::decode(&whole.encode()), Some(whole));
    }
}
