//! Chambers in the making, each of them a step further after each run.
//!
//! ```text
//!             after run 1    after run 2    after run 3
//! chamber 2   made           has run
//! chamber 3   born, held     built          has run
//! chamber 4                  born, held     built
//! ```
//!
//! A chamber's steps can only follow each other, and each of them waits for the kernel now and then. Those of two chambers
//! go on side by side, and beside the end of the one that has run. None of them goes on while a command runs.

use super::blueprint::Blueprint;
use super::standby::Standby;
use crate::{Command, Error};

#[derive(Debug, Default)]
pub(super) struct Line {
    next: Option<Standby>,
    held: Option<Standby>,
}

impl Line {
    /// A chamber for a run of this command: the one that was made for it, or one that is made now.
    pub(super) fn take(
        &mut self,
        blueprint: &Blueprint,
        command: &Command,
    ) -> Result<Standby, Error> {
        match self.next.take().filter(|next| next.suits(command)) {
            Some(next) => Ok(next),
            None => blueprint.launch(command),
        }
    }

    /// Begins what can be done for runs that follow. What goes wrong here goes wrong again, and is told, when it is needed.
    pub(super) fn advance(&mut self, blueprint: &Blueprint, command: &Command, further: u32) {
        let held = self.held.take().filter(|held| held.suits(command));
        if further > 0 {
            let next = match held {
                Some(held) => held.build(),
                None => blueprint.launch(command),
            };
            self.next = next.ok();
        }
        if further > 1 {
            self.held = blueprint.launch_held(command).ok();
        }
    }

    /// Waits until nothing goes on but what the next run waits for anyway.
    pub(super) fn settle(&mut self) {
        if let Some(held) = &mut self.held
            && held.settle().is_err()
        {
            self.held = None;
        }
    }
}
