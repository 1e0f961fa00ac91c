//! `kiln replay`: does the code of today do what a recording says?

use kiln_server::recording;
use kiln_store::tape::Unreadable;

use super::Context;
use crate::cli::Replay;
use crate::failure::{Exit, Failure};

pub(super) fn run(context: &Context<'_>, command: &Replay) -> Result<Exit, Failure> {
    let file = command.file.display();
    context.terminal.progress(&format!("replaying {file}"));
    let report = recording::replay(&command.file).map_err(|error| match &error {
        Unreadable::Io(source) => Failure::usage(format!("{file} cannot be read")).because(source),
        Unreadable::Foreign | Unreadable::Damaged { .. } | Unreadable::CutOff { .. } => {
            Failure::usage(format!("{file}: {error}"))
                .hint("`kiln server --record DIR` makes recordings")
        }
    })?;
    context.terminal.end_progress();
    let replayed = report.replayed;
    if command.json.json {
        context.terminal.json(&serde_json::json!({
            "recorded_by": report.start.kiln,
            "recorded_at": kiln_model::v0::DateTime(report.start.at),
            "steps": replayed.steps,
            "divergence": replayed.divergence.as_ref().map(|divergence| serde_json::json!({
                "line": divergence.line,
                "step": divergence.step,
                "message": report.message,
                "recorded": divergence.recorded,
                "found": divergence.found,
            })),
            "unreadable": replayed.unreadable.as_ref().map(ToString::to_string),
        }))?;
    }
    if let Some(divergence) = replayed.divergence {
        let failure = Failure::unexpected(format!("{}: {divergence}", report.message));
        return Err(failure.hint(format!(
            "recorded by kiln {}; this is kiln {}",
            report.start.kiln,
            env!("CARGO_PKG_VERSION")
        )));
    }
    match replayed.unreadable {
        // A server that was killed leaves half a line; all before it is good.
        Some(cut @ Unreadable::CutOff { .. }) => context.terminal.warn(&cut.to_string()),
        Some(error) => return Err(Failure::unexpected(format!("{file}: {error}"))),
        None => {}
    }
    if !command.json.json {
        context.terminal.data(&format!(
            "{} steps, recorded by kiln {} at {}: no divergence",
            replayed.steps,
            report.start.kiln,
            kiln_model::v0::DateTime(report.start.at)
        ))?;
    }
    Ok(Exit::Ok)
}
