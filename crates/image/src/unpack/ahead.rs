//! Reading ahead: a reader whose source is read on a thread of its own, so that decompressing a layer and writing its files
//! go on side by side.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Scope;

use super::BUFFER_BYTES;

/// How far ahead: enough to bridge the making of some files.
const BUFFERS: usize = 8;

/// What comes from the other thread: bytes, or why there are no more.
type Piece = io::Result<Vec<u8>>;

#[derive(Debug)]
pub(super) struct Ahead {
    pieces: Receiver<Piece>,
    /// Where buffers go to be filled again.
    emptied: Sender<Vec<u8>>,
    piece: Vec<u8>,
    used: usize,
}

impl Ahead {
    /// Reads a source ahead until it ends or fails, or until this is dropped.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        source: impl Read + Send + 'scope,
    ) -> Self {
        let (filled, pieces) = sync_channel(BUFFERS);
        let (emptied, empty) = channel();
        scope.spawn(move || fill(source, &filled, &empty));
        Self {
            pieces,
            emptied,
            piece: Vec::new(),
            used: 0,
        }
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.used == self.piece.len() {
            // A thread that is done with its source does not take it back.
            let _ = self.emptied.send(std::mem::take(&mut self.piece));
            self.used = 0;
            match self.pieces.recv() {
                Ok(piece) => self.piece = piece?,
                Err(_) => return Ok(0),
            }
        }
        let rest = &self.piece[self.used..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.used += count;
        Ok(count)
    }
}

/// Fills buffers. Who drops the other ends wants no more.
fn fill(mut source: impl Read, filled: &SyncSender<Piece>, empty: &Receiver<Vec<u8>>) {
    loop {
        let mut buffer = empty.try_recv().unwrap_or_default();
        buffer.resize(BUFFER_BYTES, 0);
        let piece = match source.read(&mut buffer) {
            Ok(0) => return,
            Ok(count) => {
                buffer.truncate(count);
                Ok(buffer)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let is_last = piece.is_err();
        if filled.send(piece).is_err() || is_last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in odd pieces, and then an error if it has one.
    struct Source {
        bytes: Vec<u8>,
        error: Option<&'static str>,
    }

    impl Read for Source {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.bytes.len().min(buffer.len()).min(4_321);
            if count == 0 {
                return match self.error.take() {
                    Some(error) => Err(io::Error::other(error)),
                    None => Ok(0),
                };
            }
            for (to, from) in buffer.iter_mut().zip(self.bytes.drain(..count)) {
                *to = from;
            }
            Ok(count)
        }
    }

    fn source(error: Option<&'static str>) -> Source {
        Source {
            bytes: (0..100_000_u32)
                .map(|at| at.to_le_bytes()[at as usize % 4])
                .collect(),
            error,
        }
    }

    #[test]
    fn all_bytes_come_in_their_order() {
        let mut read = Vec::new();
        std::thread::scope(|scope| Ahead::start(scope, source(None)).read_to_end(&mut read))
            .unwrap();
        assert!(read == source(None).bytes);
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it() {
        let mut read = Vec::new();
        let error = std::thread::scope(|scope| {
            Ahead::start(scope, source(Some("broken"))).read_to_end(&mut read)
        });
        assert_eq!(error.unwrap_err().to_string(), "broken");
        assert!(read == source(None).bytes);
    }

    #[test]
    fn a_reader_that_wants_no_more_does_not_wait_for_the_end() {
        let endless = io::repeat(7);
        let mut first = [0; 3];
        std::thread::scope(|scope| Ahead::start(scope, endless).read_exact(&mut first)).unwrap();
        assert_eq!(first, [7; 3]);
    }
}
