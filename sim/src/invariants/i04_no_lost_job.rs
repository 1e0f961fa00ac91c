//! Every acknowledged submission stays, in exactly one status.

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let acknowledged = view.shadow.submitted.iter();
    let known = view.before.jobs.keys();
    match acknowledged
        .chain(known)
        .find(|job| !view.after.jobs.contains_key(job))
    {
        Some(job) => Err(format!("job {job} is gone")),
        None => Ok(()),
    }
}
