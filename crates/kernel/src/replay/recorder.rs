//! Writing a log while a runner runs.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::format::{HEADER, chain_start, encode};
use crate::runner::{StepRecord, StepSink};

/// Turns committed steps into the bytes of a log. Where the bytes go is the caller's affair; they come in whole records,
/// in order, the header first.
#[derive(Clone)]
pub struct Recorder {
    state: Arc<Mutex<State>>,
}

type Write = Box<dyn FnMut(&[u8]) + Send>;

struct State {
    chain: u128,
    buffer: Vec<u8>,
    write: Write,
}

impl Recorder {
    /// Starts a log: `write` gets the header at once.
    pub fn new(mut write: impl FnMut(&[u8]) + Send + 'static) -> Self {
        write(&HEADER);
        let state = State {
            chain: chain_start(),
            buffer: Vec::new(),
            write: Box::new(write),
        };
        Self {
            state: Arc::new(Mutex::new(state)),
        }
    }

    pub fn record(&self, step: &StepRecord<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        state.buffer.clear();
        state.chain = encode(step, state.chain, &mut state.buffer);
        (state.write)(&state.buffer);
    }

    /// What [`crate::Runner::set_step_sink`] takes. Several runners may record into one log.
    pub fn sink(&self) -> StepSink {
        let recorder = self.clone();
        Arc::new(move |step| recorder.record(step))
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
