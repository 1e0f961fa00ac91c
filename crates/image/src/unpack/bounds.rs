//! The bounds on bytes, checked while they stream.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Limits;

/// A limit of [`Limits`] was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exceeded {
    #[error("it unpacks to more than the {0} bytes allowed")]
    UnpackedBytes(u64),
    #[error("it unpacks to more than {0} times its size")]
    CompressionRatio(u64),
    #[error("it has more than the {0} entries allowed")]
    Entries(u64),
    #[error("it has a path longer than the {0} bytes allowed")]
    PathBytes(usize),
    #[error("it has directories nested more than the {0} levels allowed")]
    Depth(u32),
    #[error("it has an extended header larger than the {0} bytes allowed")]
    ExtendedHeaderBytes(u64),
}

/// Bytes of an image so far.
#[derive(Debug)]
pub(super) struct Bounds {
    unpacked_limit: u64,
    ratio_limit: u64,
    ratio_floor: u64,
    unpacked: AtomicU64,
    compressed: Arc<AtomicU64>,
}

impl Bounds {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            unpacked_limit: limits.unpacked_bytes,
            ratio_limit: limits.compression_ratio,
            ratio_floor: limits.ratio_floor_bytes,
            unpacked: AtomicU64::default(),
            compressed: Arc::default(),
        }
    }

    /// The count of compressed bytes, for the reader below the decoder.
    pub(super) fn compressed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.compressed)
    }

    /// Bounds what a decoder gives.
    pub(super) fn layer<R>(&self, decoder: R) -> Bounded<'_, R> {
        Bounded {
            decoder,
            bounds: self,
        }
    }

    fn add(&self, bytes: u64) -> Result<(), Exceeded> {
        // One layer is read at a time, and by one thread.
        let unpacked = self.unpacked.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if unpacked > self.unpacked_limit {
            return Err(Exceeded::UnpackedBytes(self.unpacked_limit));
        }
        if unpacked > self.ratio_floor
            && unpacked
                > self
                    .compressed
                    .load(Ordering::Relaxed)
                    .saturating_mul(self.ratio_limit)
        {
            return Err(Exceeded::CompressionRatio(self.ratio_limit));
        }
        Ok(())
    }
}

/// A reader that stops when the image has given more than it may.
#[derive(Debug)]
pub(super) struct Bounded<'a, R> {
    decoder: R,
    bounds: &'a Bounds,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.decoder.read(buffer)?;
        self.bounds.add(read as u64).map_err(io::Error::other)?;
        Ok(read)
    }
}

/// A reader that counts.
#[derive(Debug)]
pub(super) struct Counted<R> {
    reader: R,
    count: Arc<AtomicU64>,
}

impl<R> Counted<R> {
    pub(super) const fn new(reader: R, count: Arc<AtomicU64>) -> Self {
        Self { reader, count }
    }
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
