//! The side that plays back.

use std::fmt;
use std::io::BufRead;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kiln_model::Millis;

use super::call::Statement;
use super::divergence::Divergence;
use super::entry::{Entry, Outside, Start, Told, Transaction};
use super::line::{Lines, Unreadable};

/// Plays a recording. Clones play the same one.
#[derive(Clone)]
pub struct Player {
    start: Arc<Start>,
    state: Arc<Mutex<State>>,
}

struct State {
    lines: Lines,
    statements: Vec<String>,
    /// The clock as it was read last.
    clock: Millis,
    steps: u64,
    end: Option<End>,
}

enum End {
    /// The recording is over.
    Over,
    Unreadable(Unreadable),
    Diverged(Divergence),
}

/// What a replay found.
#[derive(Debug)]
pub struct Replayed {
    /// How many steps did what the recording says.
    pub steps: u64,
    /// The first thing that did not; the replay ends there.
    pub divergence: Option<Divergence>,
    /// Why the recording itself ended early.
    pub unreadable: Option<Unreadable>,
}

impl Player {
    pub fn new(from: impl BufRead + Send + 'static) -> Result<Self, Unreadable> {
        let mut lines = Lines::new(from);
        let first = lines.next().map_err(|error| match error {
            Unreadable::Io(error) => Unreadable::Io(error),
            Unreadable::Damaged { .. } | Unreadable::CutOff { .. } | Unreadable::Foreign => {
                Unreadable::Foreign
            }
        })?;
        let Some(Entry::Start(start)) = first else {
            return Err(Unreadable::Foreign);
        };
        let state = State {
            lines,
            statements: Vec::new(),
            clock: Millis::ZERO,
            steps: 0,
            end: None,
        };
        Ok(Self {
            start: Arc::new(start),
            state: Arc::new(Mutex::new(state)),
        })
    }

    pub fn start(&self) -> &Start {
        &self.start
    }

    /// Whether there is nothing more to play: the recording is over, cannot be read on, or was left.
    pub fn is_over(&self) -> bool {
        self.state().end.is_some()
    }

    /// What was found so far.
    pub fn replayed(&self) -> Replayed {
        let mut state = self.state();
        let (divergence, unreadable) = match state.end.replace(End::Over) {
            Some(End::Diverged(divergence)) => (Some(divergence), None),
            Some(End::Unreadable(unreadable)) => (None, Some(unreadable)),
            Some(End::Over) | None => (None, None),
        };
        Replayed {
            steps: state.steps,
            divergence,
            unreadable,
        }
    }

    pub(super) fn clock(&self) -> Millis {
        let mut state = self.state();
        match state.next() {
            Some(Entry::Clock(at)) => state.clock = at,
            Some(other) => state.diverge(told(&other), "a look at the clock".to_owned()),
            None => {}
        }
        state.clock
    }

    /// The transaction that comes next; none when the replay is over.
    pub(super) fn transaction(&self, write: bool) -> Option<Transaction> {
        let mut state = self.state();
        let entry = state.next()?;
        let recorded = told(&entry);
        if let Entry::Transaction(transaction) = entry
            && transaction.write == write
        {
            return Some(transaction);
        }
        state.diverge(recorded, kind(write).to_owned());
        None
    }

    /// What came of something outside the database; none when the replay is over.
    pub(super) fn outside(&self, what: &str, asked: &serde_json::Value) -> Option<Outside> {
        let mut state = self.state();
        let entry = state.next()?;
        let (recorded, found) = (told(&entry), format!("{what} {asked}"));
        if recorded == found
            && let Entry::Outside(outside) = entry
        {
            return Some(outside);
        }
        state.diverge(recorded, found);
        None
    }

    pub(super) fn step(&self, found: &Told) {
        let mut state = self.state();
        match state.next() {
            Some(Entry::Step(recorded)) if recorded == *found => state.steps += 1,
            Some(other) => state.diverge(told(&other), told(&Entry::Step(found.clone()))),
            None => {}
        }
    }

    pub(super) fn diverge(&self, recorded: String, found: String) {
        self.state().diverge(recorded, found);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn next(&mut self) -> Option<Entry> {
        if self.end.is_some() {
            return None;
        }
        match self.lines.next() {
            Ok(Some(mut entry)) => {
                if self.spell_out(&mut entry).is_none() {
                    let line = self.lines.line();
                    self.end = Some(End::Unreadable(Unreadable::Damaged { line }));
                    return None;
                }
                Some(entry)
            }
            Ok(None) => {
                self.end = Some(End::Over);
                None
            }
            Err(unreadable) => {
                self.end = Some(End::Unreadable(unreadable));
                None
            }
        }
    }

    /// Only the first divergence counts: what follows from it is noise.
    fn diverge(&mut self, recorded: String, found: String) {
        if self.end.is_none() {
            self.end = Some(End::Diverged(Divergence {
                line: self.lines.line(),
                step: self.steps + 1,
                recorded,
                found,
            }));
        }
    }

    fn spell_out(&mut self, entry: &mut Entry) -> Option<()> {
        let Entry::Transaction(transaction) = entry else {
            return Some(());
        };
        let calls = transaction.run.iter_mut().flat_map(|run| &mut run.calls);
        for statement in calls.filter_map(super::call::Call::statement_mut) {
            match statement {
                Statement::Text(text) => self.statements.push(text.clone()),
                Statement::Known(number) => {
                    *statement = Statement::Text(self.statements.get(*number)?.clone());
                }
            }
        }
        Some(())
    }
}

fn told(entry: &Entry) -> String {
    match entry {
        Entry::Start(_) => "another start".to_owned(),
        Entry::Clock(_) => "a look at the clock".to_owned(),
        Entry::Transaction(transaction) => kind(transaction.write).to_owned(),
        Entry::Outside(outside) => format!("{} {}", outside.what, outside.asked),
        Entry::Step(step) => format!(
            "{} ({}) ended with code {}, {}",
            step.message, step.slot, step.code, step.became
        ),
    }
}

fn kind(write: bool) -> &'static str {
    if write {
        "a write transaction"
    } else {
        "a read"
    }
}

impl fmt::Debug for Player {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Player")
            .field("start", &self.start)
            .finish_non_exhaustive()
    }
}
