//! The side that writes down.

use std::collections::HashMap;
use std::fmt;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::call::Statement;
use super::entry::{Entry, Start};
use super::line;

/// Writes a recording. Clones write to the same one.
#[derive(Clone)]
pub struct Recorder {
    state: Arc<Mutex<State>>,
}

struct State {
    /// None after a write that failed: a recording with a hole in it is worth nothing.
    out: Option<Box<dyn Write + Send>>,
    statements: HashMap<String, usize>,
}

impl Recorder {
    pub fn new(out: impl Write + Send + 'static, start: Start) -> Self {
        let state = State {
            out: Some(Box::new(out)),
            statements: HashMap::new(),
        };
        let recorder = Self {
            state: Arc::new(Mutex::new(state)),
        };
        recorder.write(Entry::Start(start));
        recorder
    }

    pub(super) fn write(&self, mut entry: Entry) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { out, statements } = &mut *state;
        let Some(file) = out else { return };
        abbreviate(&mut entry, statements);
        // The work goes on: a recording is for looking back, and no reason to stop a server.
        if let Err(error) = file.write_all(line::write(&entry).as_bytes()) {
            tracing::error!(%error, "the recording of the kernel's worker ends here: it cannot be written");
            *out = None;
        }
    }
}

fn abbreviate(entry: &mut Entry, statements: &mut HashMap<String, usize>) {
    let Entry::Transaction(transaction) = entry else {
        return;
    };
    let calls = transaction.run.iter_mut().flat_map(|run| &mut run.calls);
    for statement in calls.filter_map(super::call::Call::statement_mut) {
        let Statement::Text(text) = statement else {
            continue;
        };
        if let Some(number) = statements.get(text) {
            *statement = Statement::Known(*number);
        } else {
            statements.insert(text.clone(), statements.len());
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").finish_non_exhaustive()
    }
}
