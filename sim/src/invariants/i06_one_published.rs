//! Of a chain of automatic retries one result is published: the first to commit.

use std::collections::BTreeMap;

use kiln_model::Status;

use super::View;

pub(super) fn check(view: &View<'_>) -> Result<(), String> {
    let mut chains: BTreeMap<i64, (usize, usize)> = BTreeMap::new();
    for job in view.after.all_jobs() {
        let (results, published) = chains.entry(job.ask.root.unwrap_or(job.id)).or_default();
        *results += usize::from(matches!(
            job.life.status,
            Status::Completed | Status::Processed
        ));
        *published += usize::from(job.life.published);
        let before = view.before.job(job.id);
        if before.is_some_and(|before| before.life.published && !job.life.published) {
            return Err(format!("the result of job {} was unpublished", job.id));
        }
    }
    match chains
        .iter()
        .find(|(_, (results, published))| *published > 1 || (*results > 0 && *published == 0))
    {
        Some((root, (results, published))) => Err(format!(
            "the chain of job {root} has {results} results and {published} published"
        )),
        None => Ok(()),
    }
}
