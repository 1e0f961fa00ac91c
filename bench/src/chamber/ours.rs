//! The namespace back end, as a runner uses it.

use std::path::Path;
use std::sync::Arc;

use kiln_sandbox::{
    Backend as _, CancelToken, Chamber, ChamberSpec, Command, FAR_AHEAD, Limits, Namespaces,
    Rootfs, Transcript,
};
use kiln_store::SystemClock;

use super::Sandbox;
use crate::failure::Failure;

pub(super) struct Ours {
    chamber: Box<dyn Chamber>,
    cancel: CancelToken,
    command: Command,
}

impl Ours {
    pub(super) fn prepare(root: &Path) -> Result<Self, Failure> {
        let backend = Namespaces::new(Arc::new(SystemClock::new()), std::env::temp_dir());
        let mut chamber = backend.prepare(&Rootfs::directory(root), &ChamberSpec::default())?;
        // As the iterations of a job follow each other.
        chamber.expect(FAR_AHEAD);
        Ok(Self {
            chamber,
            cancel: CancelToken::new()?,
            command: Command::new(["/bin/true"]),
        })
    }
}

impl Sandbox for Ours {
    fn name(&self) -> &'static str {
        "ours: the namespace back end, with limits"
    }

    fn run_once(&mut self) -> Result<(), Failure> {
        let mut transcript = Transcript::default();
        let exit = self.chamber.run(
            &self.command,
            &Limits::default(),
            &mut transcript,
            &self.cancel,
        )?;
        match exit.code() {
            Some(0) => Ok(()),
            _ => Err(Failure::Wrong(format!("true ended as {:?}", exit.outcome))),
        }
    }
}
