//! A result that was acknowledged as accepted is there, byte for byte.

use kiln_model::Status;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    for ((job, epoch), (digest, body)) in &view.shadow.accepted {
        let lost = |why: &str| Err(format!("the result of job {job} in epoch {epoch} {why}"));
        let Some(output) = view.after.outputs.get(&(*job, *epoch)) else {
            return lost("was acknowledged and is not there");
        };
        if output.digest != *digest {
            return lost("was acknowledged and is another");
        }
        let stored = match (&output.body, &output.object_key) {
            (Some(body), _) => Some(body.clone()),
            (None, Some(key)) => view.objects.get(key),
            (None, None) => None,
        };
        if stored.as_ref() != Some(body) {
            return lost("is not what was delivered");
        }
        if let Some(text) = view.shadow.uploaded.get(&(*job, *epoch))
            && !view.objects.has_body(text.as_bytes())
        {
            return lost("names an upload that is not what was uploaded");
        }
        let status = view.after.job(*job).map(|job| job.life.status);
        let refused = view
            .after
            .job(*job)
            .is_some_and(|job| job.ask.kind == kiln_model::Kind::Runtime);
        let kept = match status {
            Some(Status::Completed | Status::Processed) => true,
            Some(Status::Failed) => refused,
            _ => false,
        };
        if !kept {
            return lost(&format!("was acknowledged, and the job is {status:?}"));
        }
    }
    Ok(())
}
