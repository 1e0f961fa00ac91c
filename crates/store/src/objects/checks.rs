//! What the bytes of an object must be.

use kiln_model::Digest;

use super::block::{BLOCK, Blocks, WholeHasher};
use super::failure::object_error;
use super::key::ObjectKey;
use crate::{Error, ObjectErrorKind};

const BLOCK_SIZE: u64 = BLOCK as u64;

#[derive(Debug)]
pub(super) struct Checks {
    pub(super) key: ObjectKey,
    pub(super) digest: Digest,
    /// None for an object of a single block, whose digest is its checksum.
    pub(super) blocks: Option<Blocks>,
}

impl Checks {
    /// Whether these are the bytes from `start` on, which is where a block begins, up to the end of one or of the object.
    pub(super) fn check(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let Some(blocks) = &self.blocks else {
            let mut hasher = WholeHasher::new(self.digest.algorithm());
            hasher.update(bytes);
            return if hasher.finish() == self.digest {
                Ok(())
            } else {
                Err(self.corrupt("its bytes"))
            };
        };
        let first = usize::try_from(start / BLOCK_SIZE).unwrap_or(usize::MAX);
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            if !blocks.matches(first + number, block) {
                return Err(self.corrupt(&format!("block {}", first + number)));
            }
        }
        Ok(())
    }

    /// Whether an object of this size has as many blocks as there are checksums.
    pub(super) fn check_size(&self, size: u64) -> Result<(), Error> {
        match &self.blocks {
            Some(blocks) if blocks.count() != size.div_ceil(BLOCK_SIZE) => {
                Err(self.corrupt("its length"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn corrupt(&self, what: &str) -> Error {
        let message = format!("{what} does not match {}", self.digest);
        object_error(ObjectErrorKind::Corrupt, self.key.as_str(), message)
    }
}
