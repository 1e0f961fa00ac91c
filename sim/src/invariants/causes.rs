//! The row of a job that ended says what ended it: the same as its last event, apart from what was done with its result.

use kiln_model::Trigger;

use super::{View, trigger};

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for seen in view.after.jobs.values() {
        let life = &seen.job.life;
        if !life.status.is_ended() {
            continue;
        }
        let ended_by = seen
            .events
            .iter()
            .filter_map(trigger)
            .rfind(|trigger| *trigger != Trigger::Process);
        if life.cause != ended_by || life.ended.is_none() {
            return Err(format!(
                "job {} is {} by {ended_by:?}, and its row says {:?}",
                seen.job.id, life.status, life.cause
            ));
        }
    }
    Ok(())
}
