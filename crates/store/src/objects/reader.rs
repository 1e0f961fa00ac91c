//! Reading an object: no byte is handed out before its block was checked, and when the whole is asked for, it is checked at
//! the end.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use kiln_model::Digest;

use super::Objects;
use super::block::{BLOCK, Blocks, WholeHasher};
use super::failure::object_error;
use super::key::ObjectKey;
use crate::{Error, ObjectErrorKind};

const BLOCK_SIZE: u64 = BLOCK as u64;
/// How much is fetched at a time: enough that a distant S3 is not asked for every block.
const WINDOW: u64 = 4 * BLOCK_SIZE;

/// What of an object is read.
#[derive(Clone, Debug)]
pub(super) enum Extent {
    Whole,
    Part(Range<u64>),
}

/// A stream of checked bytes.
#[derive(Debug)]
pub struct ObjectReader {
    objects: Objects,
    key: ObjectKey,
    digest: Digest,
    size: u64,
    /// The next byte to hand out, and the end of what was asked for.
    position: u64,
    end: u64,
    /// None for an object of a single block, whose digest is its checksum.
    blocks: Option<Blocks>,
    /// Only when the whole is asked for.
    whole: Option<WholeHasher>,
}

impl ObjectReader {
    pub(super) async fn open(
        objects: &Objects,
        key: &ObjectKey,
        digest: &Digest,
        extent: Extent,
    ) -> Result<Self, Error> {
        let size = objects.size(key).await?;
        let size = size.ok_or_else(|| {
            object_error(
                ObjectErrorKind::NotFound,
                key.as_str(),
                "there is no such object",
            )
        })?;
        let blocks = if size > BLOCK_SIZE {
            Some(objects.blocks(key, digest).await?)
        } else {
            None
        };
        // No block would be checked if nothing were left of the object.
        let is_whole = matches!(extent, Extent::Whole) || size == 0;
        let (position, end) = match extent {
            Extent::Whole => (0, size),
            Extent::Part(range) => (range.start.min(size), range.end.min(size)),
        };
        let reader = Self {
            objects: objects.clone(),
            key: key.clone(),
            digest: digest.clone(),
            size,
            position,
            end,
            whole: is_whole.then(|| WholeHasher::new(digest.algorithm())),
            blocks,
        };
        let blocks = reader.blocks.as_ref();
        if blocks.is_some_and(|blocks| blocks.count() != size.div_ceil(BLOCK_SIZE)) {
            return Err(reader.corrupt("its length"));
        }
        Ok(reader)
    }

    /// The size of the whole object.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The next bytes, or none at the end. An error means that nothing after what was handed out can be had.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        if self.position >= self.end {
            return self.check_whole().map(|()| None);
        }
        let first = self.position / BLOCK_SIZE * BLOCK_SIZE;
        let last = (first + WINDOW)
            .min(self.end.next_multiple_of(BLOCK_SIZE))
            .min(self.size);
        let bytes = self
            .objects
            .backend
            .read_at(self.key.as_str(), first, last - first)
            .await?;
        self.check(first, &bytes)?;
        let from = offset(self.position - first);
        let until = offset(self.end.min(last) - first);
        let bytes = bytes.slice(from..until);
        self.position += bytes.len() as u64;
        if let Some(whole) = &mut self.whole {
            whole.update(&bytes);
        }
        Ok(Some(bytes))
    }

    /// The rest in memory, if it is no longer than `limit`.
    pub async fn collect(mut self, limit: u64) -> Result<Bytes, Error> {
        let length = self.end.saturating_sub(self.position);
        if length > limit {
            let what =
                format!("it is {length} bytes long, more than the {limit} that were asked for");
            return Err(object_error(
                ObjectErrorKind::Other,
                self.key.as_str(),
                what,
            ));
        }
        let mut all = BytesMut::with_capacity(offset(length));
        while let Some(bytes) = self.next().await? {
            all.extend_from_slice(&bytes);
        }
        Ok(all.freeze())
    }

    fn check(&self, start: u64, bytes: &[u8]) -> Result<(), Error> {
        let Some(blocks) = &self.blocks else {
            let mut hasher = WholeHasher::new(self.digest.algorithm());
            hasher.update(bytes);
            return if hasher.finish() == self.digest {
                Ok(())
            } else {
                Err(self.corrupt("its bytes"))
            };
        };
        let first = offset(start / BLOCK_SIZE);
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            if !blocks.matches(first + number, block) {
                return Err(self.corrupt(&format!("block {}", first + number)));
            }
        }
        Ok(())
    }

    /// Once, at the end of a whole read.
    fn check_whole(&mut self) -> Result<(), Error> {
        let found = self.whole.take().map(WholeHasher::finish);
        match found {
            Some(digest) if digest != self.digest => Err(self.corrupt("the whole")),
            _ => Ok(()),
        }
    }

    fn corrupt(&self, what: &str) -> Error {
        let message = format!("{what} does not match {}", self.digest);
        object_error(ObjectErrorKind::Corrupt, self.key.as_str(), message)
    }
}

/// Windows and limits are far below what an address can hold.
fn offset(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
