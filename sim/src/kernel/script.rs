//! What a frame is to do when it is run, carried in its payload.

use kiln_kernel::{Flags, Kind, Message, Status};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Script {
    /// Fails this often before it succeeds; more than any budget means always.
    pub(super) failures: u8,
    pub(super) failing: Failing,
    /// Sends a message of its own when it succeeds.
    pub(super) child: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failing {
    /// In its first half.
    Preparing,
    /// In its second half, after it has written something, with trouble that passes.
    Quietly,
    /// The same, with trouble that does not.
    Loudly,
}

const WAYS: [Failing; 3] = [Failing::Preparing, Failing::Quietly, Failing::Loudly];

impl Script {
    pub(super) const PLAIN: Self = Self {
        failures: 0,
        failing: Failing::Preparing,
        child: false,
    };

    pub(super) fn read(payload: &[u8]) -> Result<Self, Status> {
        let &[failures, failing, child] = payload else {
            return Err(Status::Corrupt("a script has three bytes".into()));
        };
        let failing = WAYS
            .into_iter()
            .find(|way| *way as u8 == failing)
            .ok_or_else(|| Status::Corrupt("no such way to fail".into()))?;
        Ok(Self {
            failures,
            failing,
            child: child == 1,
        })
    }

    pub(super) fn message(self, worker: u64, id: &str, once: bool) -> Message {
        let worker = i64::try_from(worker).unwrap_or(i64::MAX);
        let payload = vec![self.failures, self.failing as u8, u8::from(self.child)];
        let mut message = Message::new(Kind::Command, worker, id, payload);
        if once {
            message.flags = message.flags.with(Flags::DEDUPE_REQUIRED);
        }
        message
    }

    /// What the child of a message is called.
    pub(super) fn child_of(id: &str) -> String {
        format!("{id}/child")
    }

    pub(super) fn way(number: usize) -> Failing {
        WAYS[number % WAYS.len()]
    }
}
