//! Keeps the beginning of what a command writes: no more than could be delivered.

use kiln_sandbox::{OutputSink, Stream, StreamEnd};

use crate::{Captured, LiveOutput};

#[derive(Debug)]
pub(super) struct Sink {
    stdout: Kept,
    stderr: Kept,
    /// What each of them keeps.
    limit: usize,
    live: LiveOutput,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: Vec<u8>,
    lost: u64,
}

impl Sink {
    pub(super) fn new(limit: usize, live: LiveOutput) -> Self {
        Self {
            stdout: Kept::default(),
            stderr: Kept::default(),
            limit,
            live,
        }
    }

    /// Stdout and stderr, with what the sandbox itself has dropped.
    pub(super) fn into_captured(
        self,
        stdout: StreamEnd,
        stderr: StreamEnd,
    ) -> (Captured, Captured) {
        (
            self.stdout.into_captured(stdout.dropped),
            self.stderr.into_captured(stderr.dropped),
        )
    }
}

impl OutputSink for Sink {
    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        self.live.write(stream, bytes);
        match stream {
            Stream::Stdout => self.stdout.keep(bytes, self.limit),
            Stream::Stderr => self.stderr.keep(bytes, self.limit),
        }
    }
}

impl Kept {
    fn keep(&mut self, bytes: &[u8], limit: usize) {
        let room = limit - self.bytes.len();
        let (kept, lost) = bytes.split_at(bytes.len().min(room));
        self.bytes.extend_from_slice(kept);
        self.lost += lost.len() as u64;
    }

    fn into_captured(self, dropped: u64) -> Captured {
        Captured::new(&self.bytes, self.lost + dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let mut sink = Sink::new(4 << 20, LiveOutput::default());
        let chunk = vec![b'x'; 1 << 20];
        for _ in 0..10 {
            sink.output(Stream::Stdout, &chunk);
        }
        sink.output(Stream::Stderr, b"ok");
        assert_eq!(sink.stdout.bytes.len(), 4 << 20);
        let dropped = StreamEnd {
            bytes: 10 << 20,
            dropped: 5,
        };
        let (stdout, stderr) = sink.into_captured(dropped, StreamEnd::default());
        assert_eq!(stdout, Captured::new(&vec![b'x'; 4 << 20], (6 << 20) + 5));
        assert_eq!(stderr, "ok".into());
    }
}
