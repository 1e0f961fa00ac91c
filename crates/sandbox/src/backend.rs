//! What every back end offers.

use std::fmt;

use kiln_model::v0::Isolation;

use crate::{BaseKind, CancelToken, ChamberSpec, Command, Error, Exit, Limits, OutputSink, Rootfs};

/// A way to isolate commands.
pub trait Backend: Send + Sync + fmt::Debug {
    /// The name in configuration and results.
    fn name(&self) -> &'static str;

    /// How far its chambers keep commands from the host; `None` is not at all.
    fn isolation(&self) -> Option<Isolation>;

    /// What [`Self::prepare`] takes as a base.
    fn base_kind(&self) -> BaseKind {
        BaseKind::Directory
    }

    /// Checks that such a chamber can be made, and makes what can be made ahead of its first run.
    fn prepare(&self, rootfs: &Rootfs, spec: &ChamberSpec) -> Result<Box<dyn Chamber>, Error>;
}

/// The most runs that a back end looks ahead.
pub const FAR_AHEAD: u32 = 2;

/// A place to run commands in, one after another, each over a fresh writable layer.
pub trait Chamber: Send + fmt::Debug {
    /// Runs a command and waits for its end. Whatever the result, nothing of it is left afterwards.
    fn run(
        &mut self,
        command: &Command,
        limits: &Limits,
        sink: &mut dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<Exit, Error>;

    /// Does ahead what a run of such a command would begin with. It may take longer than that would, and may do nothing:
    /// what goes wrong is told by the run.
    fn make_ready(&mut self, _command: &Command, _cancel: &CancelToken) {}

    /// Says how many runs will follow the next one, as far as is known. A back end may then make ahead what they need, as
    /// soon as the next has nothing more to measure, for at most [`FAR_AHEAD`] runs.
    fn expect(&mut self, _further: u32) {}

    /// Gives up what `prepare` made.
    fn destroy(self: Box<Self>) -> Result<(), Error>;
}
