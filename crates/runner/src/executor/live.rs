//! What a command writes while it runs, for whoever follows it: bounded, and dropped rather than waited for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiln_model::v0::{LiveText, TextKind};
use kiln_sandbox::Stream;

/// What is kept between two looks; more is dropped.
const MAX_KEPT_BYTES: usize = 32 << 10;

/// Written by the thread that reads the command's pipes, which only copies and never waits; read about once a second.
#[derive(Clone, Debug, Default)]
pub struct LiveOutput {
    written: Arc<Mutex<Written>>,
}

#[derive(Debug, Default)]
struct Written {
    iteration: u64,
    stdout: Tail,
    stderr: Tail,
}

/// What one stream has written since the last look.
#[derive(Debug, Default)]
struct Tail {
    /// How much was written before.
    start: u64,
    bytes: Vec<u8>,
    /// How much did not fit after them.
    dropped: u64,
}

impl LiveOutput {
    /// What is written from now on is of this iteration.
    pub(crate) fn begin(&self, iteration: u64) {
        *self.lock() = Written {
            iteration,
            ..Written::default()
        };
    }

    pub(crate) fn write(&self, stream: Stream, bytes: &[u8]) {
        let mut written = self.lock();
        match stream {
            Stream::Stdout => written.stdout.write(bytes),
            Stream::Stderr => written.stderr.write(bytes),
        }
    }

    /// What was written since the last look, in pieces of at most `limit` bytes.
    pub(crate) fn take(&self, limit: usize) -> Vec<LiveText> {
        let mut written = self.lock();
        let iteration = written.iteration;
        let mut pieces = Vec::new();
        let Written { stdout, stderr, .. } = &mut *written;
        for (stream, tail) in [(TextKind::Stdout, stdout), (TextKind::Stderr, stderr)] {
            let (mut start, text) = tail.take();
            let mut rest = text.as_str();
            while !rest.is_empty() {
                let end = rest.floor_char_boundary(limit.max(4));
                let (piece, after) = rest.split_at(end);
                pieces.push(LiveText {
                    iteration,
                    stream,
                    start,
                    text: piece.to_owned(),
                });
                start += piece.len() as u64;
                rest = after;
            }
        }
        pieces
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tail {
    fn write(&mut self, bytes: &[u8]) {
        let room = if self.dropped > 0 {
            0
        } else {
            MAX_KEPT_BYTES - self.bytes.len()
        };
        let (kept, dropped) = bytes.split_at(bytes.len().min(room));
        self.bytes.extend_from_slice(kept);
        self.dropped += dropped.len() as u64;
    }

    /// Where it begins, and the text. The beginning of a character whose end is not written yet stays.
    fn take(&mut self) -> (u64, String) {
        let end = if self.dropped > 0 {
            self.bytes.len()
        } else {
            whole_characters(&self.bytes)
        };
        let rest = self.bytes.split_off(end);
        let text = String::from_utf8_lossy(&std::mem::replace(&mut self.bytes, rest)).into_owned();
        let start = self.start;
        self.start += text.len() as u64 + std::mem::take(&mut self.dropped);
        (start, text)
    }
}

/// How many bytes are left when an unfinished character at the end is left out.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(live: &LiveOutput) -> Vec<(u64, String)> {
        let pieces = live.take(1 << 20).into_iter();
        pieces.map(|piece| (piece.start, piece.text)).collect()
    }

    #[test]
    fn each_look_brings_what_was_written_since_the_last() {
        let live = LiveOutput::default();
        live.begin(3);
        live.write(Stream::Stdout, b"one");
        live.write(Stream::Stdout, b" two");
        assert_eq!(texts(&live), [(0, "one two".to_owned())]);
        live.write(Stream::Stdout, b" three");
        assert_eq!(texts(&live), [(7, " three".to_owned())]);
        assert_eq!(texts(&live), []);
    }

    #[test]
    fn a_flood_is_dropped_and_the_gap_is_told() {
        let live = LiveOutput::default();
        live.write(Stream::Stdout, &vec![b'x'; MAX_KEPT_BYTES + 10]);
        live.write(Stream::Stdout, b"lost too");
        assert_eq!(texts(&live), [(0, "x".repeat(MAX_KEPT_BYTES))]);
        live.write(Stream::Stdout, b"on");
        assert_eq!(
            texts(&live),
            [(MAX_KEPT_BYTES as u64 + 18, "on".to_owned())]
        );
    }

    #[test]
    fn a_character_is_told_when_it_is_whole() {
        let live = LiveOutput::default();
        let crab = "🦀".as_bytes();
        live.write(Stream::Stderr, &crab[..2]);
        assert_eq!(texts(&live), []);
        live.write(Stream::Stderr, &crab[2..]);
        assert_eq!(texts(&live), [(0, "🦀".to_owned())]);
    }

    #[test]
    fn pieces_are_as_long_as_a_message_may_be() {
        let live = LiveOutput::default();
        live.write(Stream::Stdout, "ééé".as_bytes());
        let pieces = live.take(5);
        assert_eq!(pieces.len(), 2);
        assert_eq!((pieces[1].start, pieces[1].text.as_str()), (4, "é"));
    }
}
