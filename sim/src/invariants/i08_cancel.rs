//! Cancel wins or loses once: who was told `canceled` never sees a result of that job.

use kiln_model::Status;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for id in &view.shadow.told_canceled {
        let Some(job) = view.after.job(*id) else {
            continue;
        };
        if job.life.status != Status::Canceled || job.life.published {
            return Err(format!(
                "job {id} was told to be canceled, and is {}{}",
                job.life.status,
                if job.life.published {
                    " and published"
                } else {
                    ""
                }
            ));
        }
    }
    Ok(())
}
