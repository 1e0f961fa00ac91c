//! Reading an object: no byte is handed out before its block was checked, and when the whole is asked for, it is checked at
//! the end. While a window is on its way to whoever reads, the next one is read and checked; there are never more than those
//! two, so memory does not grow with the object.

use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use kiln_model::Digest;
use tokio_util::task::AbortOnDropHandle;

use super::block::{BLOCK, WholeHasher};
use super::checks::Checks;
use super::failure::object_error;
use super::key::ObjectKey;
use super::{Backend, Objects};
use crate::{Error, ObjectErrorKind};

const BLOCK_SIZE: u64 = BLOCK as u64;
/// A distant S3 is not asked for every block.
const REMOTE_WINDOW: u64 = 4 * BLOCK_SIZE;
/// What is read is still in the processor's cache when it is hashed.
const FILE_WINDOW: u64 = BLOCK_SIZE;

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
    checks: Arc<Checks>,
    size: u64,
    /// The next byte to hand out, and the end of what was asked for.
    position: u64,
    end: u64,
    /// Only when the whole is asked for.
    whole: Option<WholeHasher>,
    /// The window at `position`, under way.
    ahead: Option<AbortOnDropHandle<Result<Bytes, Error>>>,
    /// The window that was handed out last: once nobody else holds it, its memory serves again.
    behind: Bytes,
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
        let checks = Checks {
            key: key.clone(),
            digest: digest.clone(),
            blocks,
        };
        checks.check_size(size)?;
        // No block would be checked if nothing were left of the object.
        let is_whole = matches!(extent, Extent::Whole) || size == 0;
        let (position, end) = match extent {
            Extent::Whole => (0, size),
            Extent::Part(range) => (range.start.min(size), range.end.min(size)),
        };
        Ok(Self {
            objects: objects.clone(),
            checks: Arc::new(checks),
            size,
            position,
            end,
            whole: is_whole.then(|| WholeHasher::new(digest.algorithm())),
            ahead: None,
            behind: Bytes::new(),
        })
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
        let window = self.window();
        if self.ahead.is_none() {
            self.ahead = Some(self.read(window.clone()));
        }
        // Not taken out before it is there: whoever gives up waiting can come again.
        let read = match &mut self.ahead {
            Some(ahead) => ahead.await,
            None => return Ok(None),
        };
        self.ahead = None;
        let bytes = read
            .map_err(|error| object_error(ObjectErrorKind::Other, self.name(), error))
            .flatten()?;
        let from = offset(self.position - window.start);
        let until = offset(self.end.min(window.end) - window.start);
        self.position = self.end.min(window.end);
        if self.position < self.end {
            self.ahead = Some(self.read(self.window()));
        }
        self.behind = bytes.clone();
        let bytes = bytes.slice(from..until);
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
            return Err(object_error(ObjectErrorKind::Other, self.name(), what));
        }
        let mut all = BytesMut::with_capacity(offset(length));
        while let Some(bytes) = self.next().await? {
            all.extend_from_slice(&bytes);
        }
        Ok(all.freeze())
    }

    /// The blocks to read next.
    fn window(&self) -> Range<u64> {
        let length = match self.objects.backend.as_ref() {
            Backend::Directory(_) => FILE_WINDOW,
            Backend::Remote(_) => REMOTE_WINDOW,
        };
        let start = self.position / BLOCK_SIZE * BLOCK_SIZE;
        let end = (start + length).min(self.end.next_multiple_of(BLOCK_SIZE));
        start..end.min(self.size)
    }

    /// Begins to read and check some blocks.
    fn read(&mut self, window: Range<u64>) -> AbortOnDropHandle<Result<Bytes, Error>> {
        let memory = std::mem::take(&mut self.behind).try_into_mut();
        let checks = Arc::clone(&self.checks);
        AbortOnDropHandle::new(match self.objects.backend.as_ref() {
            Backend::Directory(directory) => {
                let name = self.checks.key.as_str();
                let start = window.start;
                let check = move |bytes: &[u8]| checks.check(start, bytes);
                directory.start_read(name, window, memory.unwrap_or_default(), check)
            }
            Backend::Remote(_) => {
                let objects = self.objects.clone();
                tokio::spawn(async move {
                    let (name, length) = (checks.key.as_str(), window.end - window.start);
                    let read = objects.backend.read_at(name, window.start, length);
                    let bytes = read.await?;
                    checks.check(window.start, &bytes)?;
                    Ok(bytes)
                })
            }
        })
    }

    /// Once, at the end of a whole read.
    fn check_whole(&mut self) -> Result<(), Error> {
        let found = self.whole.take().map(WholeHasher::finish);
        match found {
            Some(digest) if digest != self.checks.digest => Err(self.checks.corrupt("the whole")),
            _ => Ok(()),
        }
    }

    fn name(&self) -> &str {
        self.checks.key.as_str()
    }
}

/// Windows and limits are far below what an address can hold.
fn offset(length: u64) -> usize {
    usize::try_from(length).unwrap_or(usize::MAX)
}
