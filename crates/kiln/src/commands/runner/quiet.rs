//! Keeping this host quiet as the settings say.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use kiln_runner::QuietHost;
use kiln_sandbox::quiet::{
    Tuning, TuningError, TuningPlan, core_split, pin_this_process, pin_this_thread, undo,
    usable_cores,
};

use crate::commands::Context;
use crate::failure::Failure;

/// This host as a runner keeps it. Dropping it puts everything back.
pub(super) struct KeptHost {
    quiet: QuietHost,
    tuning: Option<Arc<Tuning>>,
    /// The cores of this process before it kept to some of them.
    usable: Vec<u32>,
}

impl KeptHost {
    pub(super) fn quiet(&self) -> QuietHost {
        self.quiet.clone()
    }

    /// Without a word about its settings. Cores are split all the same, which needs no rights: with one slot, so that jobs
    /// that are measured have no runner in their way. Jobs that share a host are not measured, and may have all of it.
    fn untuned(slots: u32, usable: Vec<u32>) -> Self {
        let split = core_split().filter(|_| slots == 1);
        // Where nobody may say where it runs, jobs run anywhere, and their receipts name no cores.
        let split = split.filter(|cores| pin_this_process(&cores.housekeeping).is_ok());
        Self {
            quiet: split.map_or_else(QuietHost::untouched, QuietHost::pinned),
            tuning: None,
            usable,
        }
    }

    fn tuned(tuning: Tuning, usable: Vec<u32>) -> Result<Self, Failure> {
        let tuning = Arc::new(tuning);
        let quiet = QuietHost::tuned(Arc::clone(&tuning));
        if let Some(cores) = quiet.cores() {
            pin_this_process(&cores.housekeeping)?;
        }
        Ok(Self {
            quiet,
            tuning: Some(tuning),
            usable,
        })
    }
}

impl Drop for KeptHost {
    fn drop(&mut self) {
        // Not when the last job lets go of it: this process may be about to become another program.
        if let Some(tuning) = &self.tuning
            && let Err(error) = tuning.restore()
        {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "a setting of this host could not be put back"
            );
        }
        // That program would take what is left to it for all there is.
        if let Err(error) = pin_this_thread(&self.usable) {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "this process keeps to its cores"
            );
        }
    }
}

/// Puts back what a killed runner left changed, then tunes if that is wanted, for a runner with so many slots. This process,
/// and all it starts, keep to the housekeeping cores.
pub(super) fn quiet_host(
    context: &Context<'_>,
    data: &Path,
    slots: u32,
) -> Result<KeptHost, Failure> {
    put_back(context, data)?;
    // Before there is a partition, whose cores are nobody else's.
    let usable = usable_cores()?;
    if !context.settings.is_on("tuning")? {
        return Ok(KeptHost::untuned(slots, usable));
    }
    let knobs = context.settings.get("knobs").unwrap_or_default();
    let choices = knobs.split(',').filter(|choice| !choice.is_empty());
    let plan = TuningPlan::with_choices(choices)
        .map_err(|error| Failure::usage("--knobs is not understood").because(&error))?;
    match Tuning::apply(&plan, data) {
        Ok(tuning) => KeptHost::tuned(tuning, usable),
        Err(TuningError::InUse) => {
            context
                .terminal
                .warn("another runner tunes this host: it is left as it is");
            Ok(KeptHost::untuned(slots, usable))
        }
        Err(error) => Err(Failure::unexpected("this host cannot be tuned")
            .because(&error)
            .hint("run as root, or with --tuning off")),
    }
}

/// What a killed runner left changed. A living one keeps its host as it wants it.
fn put_back(context: &Context<'_>, data: &Path) -> Result<(), Failure> {
    match undo(data) {
        Ok(0) => {}
        Ok(undone) => context.terminal.note(&format!(
            "Put back {undone} settings of this host that an earlier runner had changed."
        )),
        Err(TuningError::InUse) => context
            .terminal
            .note("Another runner tunes this host: its settings are left as they are."),
        Err(TuningError::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            context.terminal.warn(
                "an earlier runner left settings of this host changed, which only root can put back",
            );
        }
        Err(error) => {
            return Err(
                Failure::unexpected("this host's settings cannot be put back").because(&error),
            );
        }
    }
    Ok(())
}
