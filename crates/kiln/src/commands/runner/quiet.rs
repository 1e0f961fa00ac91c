//! Keeping this host quiet as the settings say.

use std::path::Path;
use std::sync::Arc;

use kiln_runner::QuietHost;
use kiln_sandbox::quiet::{Tuning, TuningError, TuningPlan, pin_this_thread, undo};

use crate::commands::Context;
use crate::failure::Failure;

/// Puts back what a killed runner left changed, then tunes if that is wanted. This thread, and all it starts, keep to the
/// housekeeping cores of a tuned host.
pub(super) fn quiet_host(context: &Context<'_>, data: &Path) -> Result<QuietHost, Failure> {
    let broke = |error: &TuningError| {
        Failure::unexpected("this host's settings cannot be put back").because(error)
    };
    let undone = undo(data).map_err(|error| broke(&error))?;
    if undone > 0 {
        context.terminal.note(&format!(
            "Put back {undone} settings of this host that an earlier runner had changed."
        ));
    }
    if !context.settings.is_on("tuning")? {
        return Ok(QuietHost::untouched());
    }
    let knobs = context.settings.get("knobs").unwrap_or_default();
    let choices = knobs.split(',').filter(|choice| !choice.is_empty());
    let plan = TuningPlan::with_choices(choices)
        .map_err(|error| Failure::usage("--knobs is not understood").because(&error))?;
    match Tuning::apply(&plan, data) {
        Ok(tuning) => {
            let quiet = QuietHost::tuned(Arc::new(tuning));
            if let Some(cores) = quiet.cores() {
                pin_this_thread(&cores.housekeeping)?;
            }
            Ok(quiet)
        }
        Err(TuningError::InUse) => {
            context
                .terminal
                .warn("another runner tunes this host: it is left as it is");
            Ok(QuietHost::untouched())
        }
        Err(error) => Err(Failure::unexpected("this host cannot be tuned")
            .because(&error)
            .hint("run as root, or with --tuning off")),
    }
}
