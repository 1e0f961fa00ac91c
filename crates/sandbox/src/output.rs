//! Where output goes while a command runs.

use kiln_guest_init::protocol::Stream;

/// Takes what a run produces, in the order in which it arrives. It is called on the thread of the run: a sink that takes
/// its time makes the command wait.
pub trait OutputSink {
    /// The command was executed; pulling, sealing and waiting are over.
    fn started(&mut self) {}

    fn output(&mut self, stream: Stream, bytes: &[u8]);

    /// The stream went beyond its limit and is cut off here.
    fn truncated(&mut self, stream: Stream) {
        let _ = stream;
    }
}

/// Keeps everything in memory; for tests and small tools.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    pub started: bool,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

impl OutputSink for Transcript {
    fn started(&mut self) {
        self.started = true;
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.extend_from_slice(bytes),
            Stream::Stderr => self.stderr.extend_from_slice(bytes),
        }
    }
}
