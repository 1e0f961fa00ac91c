//! The host's side of the guest protocol: what was heard so far, and whether the next message may come now.
//!
//! ```text
//! Sealing ──Ready──▶ Sealed ──Started──▶ Running ──Exited──▶ Collecting ──Finished──▶ Finished
//! ```
//!
//! It trusts nothing: a guest that speaks out of turn, sends more than was allowed or files nobody asked for is an error
//! or is cut off here, whatever its own limits were meant to do.

use kiln_guest_init::protocol::Usage as GuestUsage;
use kiln_guest_init::protocol::{FileOutcome, Layer, Start, Status, Stream, ToHost};

use crate::{CollectedFile, Error, OutputSink, StreamEnd};

/// The longest list of layers a guest may report.
const MAX_LAYERS: usize = 256;

/// What a file is until the guest has sent it.
const UNSENT: &str = "the chamber ended before it was sent";

/// What one run has told so far.
pub(crate) struct Conversation<'a> {
    phase: Phase,
    sink: &'a mut dyn OutputSink,
    pub(crate) layers: Vec<Layer>,
    pub(crate) stdout: Counter,
    pub(crate) stderr: Counter,
    pub(crate) files: Vec<CollectedFile>,
    file_limits: Vec<u64>,
    /// What all files together may still have.
    files_left: u64,
    pub(crate) end: Option<(Status, GuestUsage)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Sealing,
    Sealed,
    Running,
    Collecting,
    Finished,
}

/// One stream against its limit.
#[derive(Debug)]
pub(crate) struct Counter {
    limit: u64,
    pub(crate) end: StreamEnd,
}

/// What a message means for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Nothing,
    Born(u32),
    Started,
    Exited,
    Finished,
}

impl<'a> Conversation<'a> {
    pub(crate) fn new(start: &Start, sink: &'a mut dyn OutputSink) -> Self {
        let counter = |limit| Counter {
            limit,
            end: StreamEnd::default(),
        };
        Self {
            phase: Phase::Sealing,
            sink,
            layers: Vec::new(),
            stdout: counter(start.stdout_bytes),
            stderr: counter(start.stderr_bytes),
            files: start
                .files
                .iter()
                .map(|file| CollectedFile {
                    path: file.path.clone(),
                    bytes: Vec::new(),
                    outcome: FileOutcome::Refused {
                        reason: UNSENT.to_owned(),
                    },
                })
                .collect(),
            file_limits: start.files.iter().map(|file| file.max_bytes).collect(),
            files_left: start.files_bytes,
            end: None,
        }
    }

    /// A conversation with a guest whose chamber was sealed before, with these layers.
    pub(crate) fn sealed(
        start: &Start,
        sink: &'a mut dyn OutputSink,
        layers: Vec<Layer>,
    ) -> Result<Self, Error> {
        let mut conversation = Self::new(start, sink);
        conversation.hear(ToHost::Ready { layers })?;
        Ok(conversation)
    }

    pub(crate) fn hear(&mut self, message: ToHost) -> Result<Heard, Error> {
        match (self.phase, message) {
            (
                _,
                ToHost::Failed {
                    stage,
                    errno,
                    message,
                },
            ) => Err(Error::from_guest(stage, errno, message)),
            // A machine says so once; what it was told before it could listen has waited for it.
            (Phase::Sealing, ToHost::Up { .. } | ToHost::Held) => Ok(Heard::Nothing),
            (Phase::Sealing, ToHost::Born { pid }) => Ok(Heard::Born(pid)),
            (Phase::Sealing, ToHost::Ready { layers }) => {
                self.add_layers(layers)?;
                self.phase = Phase::Sealed;
                Ok(Heard::Nothing)
            }
            (Phase::Sealed, ToHost::Started { layers }) => {
                self.add_layers(layers)?;
                self.phase = Phase::Running;
                self.sink.started();
                Ok(Heard::Started)
            }
            (Phase::Running, ToHost::Output { stream, bytes }) => {
                self.output(stream, &bytes);
                Ok(Heard::Nothing)
            }
            (Phase::Running, ToHost::Truncated { stream, dropped }) => {
                self.drop_bytes(stream, dropped);
                Ok(Heard::Nothing)
            }
            (Phase::Running, ToHost::Exited { status, usage }) => {
                self.end = Some((status, usage));
                self.phase = Phase::Collecting;
                Ok(Heard::Exited)
            }
            (Phase::Collecting, ToHost::FileChunk { index, bytes }) => {
                self.file_chunk(index, &bytes)?;
                Ok(Heard::Nothing)
            }
            (Phase::Collecting, ToHost::FileEnd { index, outcome }) => {
                self.file(index)?.0.outcome = outcome;
                Ok(Heard::Nothing)
            }
            (Phase::Collecting, ToHost::Finished) => {
                self.phase = Phase::Finished;
                Ok(Heard::Finished)
            }
            _ => Err(Error::OutOfTurn("a message came out of turn")),
        }
    }

    fn add_layers(&mut self, layers: Vec<Layer>) -> Result<(), Error> {
        self.layers.extend(layers);
        if self.layers.len() > MAX_LAYERS {
            return Err(Error::OutOfTurn("more layers than there can be"));
        }
        Ok(())
    }

    fn counter(&mut self, stream: Stream) -> &mut Counter {
        match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        }
    }

    fn output(&mut self, stream: Stream, bytes: &[u8]) {
        let counter = self.counter(stream);
        let left = counter.limit - counter.end.bytes;
        let fits = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
        let (kept, dropped) = bytes.split_at(fits);
        counter.end.bytes += kept.len() as u64;
        if !kept.is_empty() {
            self.sink.output(stream, kept);
        }
        self.drop_bytes(stream, dropped.len() as u64);
    }

    fn drop_bytes(&mut self, stream: Stream, dropped: u64) {
        let end = &mut self.counter(stream).end;
        let first = !end.truncated() && dropped > 0;
        end.dropped = end.dropped.saturating_add(dropped);
        if first {
            self.sink.truncated(stream);
        }
    }

    fn file(&mut self, index: u32) -> Result<(&mut CollectedFile, u64), Error> {
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        match (self.files.get_mut(index), self.file_limits.get(index)) {
            (Some(file), Some(limit)) => Ok((file, *limit)),
            _ => Err(Error::OutOfTurn("a file came that nobody asked for")),
        }
    }

    fn file_chunk(&mut self, index: u32, bytes: &[u8]) -> Result<(), Error> {
        let (file, limit) = self.file(index)?;
        if (file.bytes.len() + bytes.len()) as u64 > limit {
            return Err(Error::OutOfTurn("a file is longer than was allowed"));
        }
        let left = self.files_left.checked_sub(bytes.len() as u64);
        self.files_left = left.ok_or(Error::OutOfTurn("the files are longer than was allowed"))?;
        let (file, _) = self.file(index)?;
        file.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
