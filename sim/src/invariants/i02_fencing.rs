//! Only the holder of the current epoch changes a job.

use super::View;
use crate::note::Note;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for note in view.notes {
        let Note::Word { runner, of } = note else {
            continue;
        };
        let (Some(before), after) = (view.before.jobs.get(&of.job), view.after.jobs.get(&of.job))
        else {
            continue;
        };
        let life = &before.job.life;
        let is_holder = life.runner == Some(*runner) && life.epoch == of.epoch;
        if is_holder {
            continue;
        }
        let same_outputs = view
            .before
            .outputs
            .range((of.job, i64::MIN)..=(of.job, i64::MAX))
            .eq(view
                .after
                .outputs
                .range((of.job, i64::MIN)..=(of.job, i64::MAX)));
        if after != Some(before) || !same_outputs {
            return Err(format!(
                "runner {runner} spoke of job {} in epoch {}, which was in epoch {} of {:?}, and was heard",
                of.job, of.epoch, life.epoch, life.runner
            ));
        }
    }
    Ok(())
}
