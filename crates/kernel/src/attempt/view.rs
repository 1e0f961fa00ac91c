//! What the function of an attempt gets to work with.

use std::fmt;

use kiln_model::Millis;

use super::Stack;
use crate::{Dbi, Intent, KvTx, MessageView, Status};

/// A snapshot to read from and a stack to stage on.
pub struct Attempt<'a, T: ?Sized> {
    pub(super) snapshot: &'a mut T,
    pub(super) stack: &'a mut Stack,
}

impl<'a, T: KvTx + ?Sized> Attempt<'a, T> {
    pub fn new(snapshot: &'a mut T, stack: &'a mut Stack) -> Self {
        Self { snapshot, stack }
    }

    pub fn get(&mut self, dbi: Dbi, key: &[u8]) -> Result<Option<Vec<u8>>, Status> {
        self.stack.get(self.snapshot, dbi, key)
    }

    pub fn put(&mut self, dbi: Dbi, key: &[u8], value: &[u8]) {
        self.stack.put(dbi, key, value);
    }

    pub fn delete(&mut self, dbi: Dbi, key: &[u8]) {
        self.stack.delete(dbi, key);
    }

    /// Emits a message into the outbox when the attempt commits.
    pub fn emit(&mut self, message: &MessageView<'_>) -> Result<(), Status> {
        self.stack.intend(Intent::OutboxEmit {
            message: message.encode()?,
        })
    }

    /// Arms a timer when the attempt commits.
    pub fn arm(&mut self, due: Millis, message: &MessageView<'_>) -> Result<(), Status> {
        self.stack.intend(Intent::TimerArm {
            due,
            message: message.encode()?,
        })
    }

    pub fn push(&mut self) {
        self.stack.push();
    }

    pub fn commit_top(&mut self) -> Result<(), Status> {
        self.stack.commit_top()
    }

    pub fn abort_top(&mut self) -> Result<(), Status> {
        self.stack.abort_top()
    }
}

impl<T: ?Sized> fmt::Debug for Attempt<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attempt")
            .field("stack", &self.stack)
            .finish_non_exhaustive()
    }
}
