//! A part of a file as a request body, read on a thread that may block.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;

use bytes::Bytes;
use futures_util::stream;
use reqwest::Body;
use tokio::sync::mpsc;

const CHUNK_BYTES: u64 = 256 << 10;
const CHUNKS_AHEAD: usize = 4;

/// Streams a range of a file, and tells how many of its bytes have been taken.
pub(super) fn body(file: File, range: Range<u64>, on_taken: impl Fn(u64) + Send + 'static) -> Body {
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(CHUNKS_AHEAD);
    tokio::task::spawn_blocking(move || {
        let mut part = Part { file, range };
        while let Some(chunk) = part.next_chunk() {
            let is_error = chunk.is_err();
            if sender.blocking_send(chunk).is_err() || is_error {
                return;
            }
        }
    });
    let start = (receiver, 0, on_taken);
    Body::wrap_stream(stream::unfold(
        start,
        |(mut receiver, taken, on_taken)| async move {
            let chunk = receiver.recv().await?;
            let taken = taken + chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
            on_taken(taken);
            Some((chunk, (receiver, taken, on_taken)))
        },
    ))
}

struct Part {
    file: File,
    range: Range<u64>,
}

impl Part {
    /// Reads at a position of its own: the handle is shared with earlier attempts, whose threads
    /// may still be reading.
    fn next_chunk(&mut self) -> Option<io::Result<Bytes>> {
        let want = (self.range.end - self.range.start).min(CHUNK_BYTES);
        if want == 0 {
            return None;
        }
        let mut chunk = vec![0; usize::try_from(want).expect("a chunk fits in memory")];
        let outcome = self.file.read_exact_at(&mut chunk, self.range.start);
        self.range.start += want;
        Some(outcome.map(|()| chunk.into()))
    }
}
