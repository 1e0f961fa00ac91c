//! The sabotage of K2: effects in one transaction, the rest in another.

use std::sync::{Arc, Mutex, PoisonError};

use super::apply::Rules;
use super::job::{Job, Ready};
use crate::{Handler, Kv, KvTx, MessageView, Status, Step};

/// Commits what the handlers do, and marks the jobs so that the transaction that follows only removes their frames.
pub(super) fn effects_first<K: Kv, H: Handler<K::Tx>>(
    kv: &K,
    handler: &Arc<H>,
    rules: Rules,
    jobs: Vec<Job<H::Prepared>>,
) -> Result<Vec<Job<H::Prepared>>, Status> {
    let jobs = Arc::new(Mutex::new(jobs));
    let (handler, shared) = (Arc::clone(handler), Arc::clone(&jobs));
    let answers = kv.write(move |tx| {
        let jobs = shared.lock().unwrap_or_else(PoisonError::into_inner);
        jobs.iter()
            .map(|job| effects(tx, &*handler, &rules, job))
            .collect::<Result<Vec<_>, _>>()
    })?;
    let mut jobs = std::mem::take(&mut *jobs.lock().unwrap_or_else(PoisonError::into_inner));
    for (job, answer) in jobs.iter_mut().zip(answers) {
        match answer {
            Some(Ok(())) => job.ready = Ready::Repeated,
            Some(Err(failure)) => job.ready = Ready::Refused(failure),
            None => {}
        }
    }
    Ok(jobs)
}

fn effects<T: KvTx + ?Sized, H: Handler<T>>(
    tx: &mut T,
    handler: &H,
    rules: &Rules,
    job: &Job<H::Prepared>,
) -> Result<Option<Result<(), Status>>, Status> {
    let Ready::Prepared(prepared) = &job.ready else {
        return Ok(None);
    };
    let message = MessageView::decode(&job.claimed.frame)?;
    let mut step = Step::new(rules.now, rules.worker, Some(job.claimed.slot), 1);
    tx.begin_nested()?;
    let answer = handler
        .apply(prepared, &message, tx, &mut step)
        .and_then(|()| step.route(tx, &rules.sink));
    if answer.is_ok() {
        tx.commit_nested()?;
    } else {
        tx.rollback_nested()?;
    }
    Ok(Some(answer))
}
