//! A transaction that happened before.

use std::collections::VecDeque;

use kiln_model::Millis;

use super::Transcript;
use super::call::{Call, Frame, Statement, nested, statement};
use super::entry::Run;
use super::player::Player;
use crate::{Bell, Engine, Error, Query, Row, Tx, Value};

pub(super) struct Played {
    player: Player,
    now: Millis,
    wall: Millis,
    calls: VecDeque<Call>,
    depth: usize,
    transcript: Option<Transcript>,
}

impl Played {
    pub(super) fn new(player: Player, run: Run) -> Self {
        Self {
            player,
            now: run.now,
            wall: run.wall,
            calls: run.calls.into(),
            depth: 0,
            transcript: None,
        }
    }

    /// The closure is through: has it said all that it said then?
    pub(super) fn finish(mut self) {
        if let Some(call) = self.calls.pop_front() {
            self.player
                .diverge(call.question(), "the end of the transaction".to_owned());
        }
    }

    fn next(&mut self, question: impl FnOnce() -> String) -> Result<Call, Error> {
        match self.calls.pop_front() {
            Some(call) => Ok(call),
            None => Err(self.diverged("the end of the transaction".to_owned(), question())),
        }
    }

    fn diverged(&mut self, recorded: String, found: String) -> Error {
        self.player.diverge(recorded, found);
        self.calls.clear();
        Error::Closed
    }

    fn frame(&mut self, asked: Frame) -> Result<(), Error> {
        let call = self.next(|| nested(asked))?;
        let recorded = call.question();
        if let Call::Nested { frame, answer } = call
            && frame == asked
        {
            return answer;
        }
        Err(self.diverged(recorded, nested(asked)))
    }
}

impl Query for Played {
    fn engine(&self) -> Engine {
        self.player.start().engine
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, Error> {
        let asked = statement(&Statement::Text(sql.to_owned()), params);
        let call = self.next(|| asked.clone())?;
        let recorded = call.question();
        if recorded == asked
            && let Call::Query { answer, .. } = call
        {
            return answer;
        }
        Err(self.diverged(recorded, asked))
    }
}

impl Tx for Played {
    fn now(&self) -> Millis {
        self.now
    }

    fn wall(&self) -> Millis {
        self.wall
    }

    fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        let asked = statement(&Statement::Text(sql.to_owned()), params);
        let call = self.next(|| asked.clone())?;
        let recorded = call.question();
        if recorded == asked
            && let Call::Execute { answer, .. } = call
        {
            return answer;
        }
        Err(self.diverged(recorded, asked))
    }

    fn ring(&mut self, _: Bell) {}

    fn lock_kernel(&mut self) -> Result<(), Error> {
        match self
            .calls
            .pop_front_if(|call| matches!(call, Call::Locked { .. }))
        {
            Some(Call::Locked { failed }) => Err(failed),
            _ => Ok(()),
        }
    }

    fn nested_depth(&self) -> usize {
        self.depth
    }

    fn begin_nested(&mut self) -> Result<(), Error> {
        self.frame(Frame::Begin)?;
        self.depth += 1;
        Ok(())
    }

    fn commit_nested(&mut self) -> Result<(), Error> {
        self.frame(Frame::Commit)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn rollback_nested(&mut self) -> Result<(), Error> {
        self.frame(Frame::Rollback)?;
        self.depth = self.depth.saturating_sub(1);
        Ok(())
    }

    fn transcript(&mut self) -> &mut Option<Transcript> {
        &mut self.transcript
    }
}
