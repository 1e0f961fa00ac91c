//! What a runner said before may be said again, and changes nothing.

use super::View;
use crate::note::Note;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let repeated = view.notes.iter().any(|note| matches!(note, Note::Repeated));
    if repeated && view.before != view.after {
        let changed = view
            .after
            .jobs
            .iter()
            .find(|(id, seen)| view.before.jobs.get(id) != Some(seen));
        return Err(format!(
            "a repeated word changed something; the first job that differs: {:?}",
            changed.map(|(id, seen)| (id, seen.job.life.status))
        ));
    }
    Ok(())
}
