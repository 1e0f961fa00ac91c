//! Actions are abandoned while the session is, and not once it takes work again.

use kiln_model::Trigger;

use super::{View, trigger};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let abandoned = view
        .after
        .fresh_events(view.before)
        .find(|(_, event)| trigger(event) == Some(Trigger::SessionAbandon));
    match abandoned {
        Some((seen, _)) if !view.after.session_is_abandoned => Err(format!(
            "action {} was abandoned while the session is open",
            seen.job.id
        )),
        _ => Ok(()),
    }
}
