//! The second half: every job of a pass in one transaction, each in a nested frame of its own.

use kiln_model::Millis;

use super::dispose::{self, Removal};
use super::failures::Failures;
use super::job::{Disposition, Job, Outcome, Ready, Settled};
use super::prepare::caught;
use crate::handler::Handler;
use crate::intents::Sink;
use crate::policy::Policy;
use crate::records::{DedupeRecord, Lease};
use crate::{Flags, KvTx, MessageView, Status, Step, dedupe};

/// What is the same for all jobs of a pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) worker: u64,
    pub(super) owner: u64,
    pub(super) now: Millis,
    pub(super) policy: Policy,
    pub(super) sink: Sink,
    #[cfg(feature = "sabotage")]
    pub(super) ignore_budget: bool,
}

pub(super) fn all<T: KvTx + ?Sized, H: Handler<T>>(
    tx: &mut T,
    handler: &H,
    rules: &Rules,
    jobs: &[Job<H::Prepared>],
    tokens: &[Lease],
) -> Result<Vec<Outcome>, Status> {
    let mut failures = Failures::load(tx)?;
    let mut outcomes = Vec::with_capacity(jobs.len());
    for (job, token) in jobs.iter().zip(tokens) {
        outcomes.push(one(tx, handler, rules, &mut failures, job, token)?);
    }
    Ok(outcomes)
}

fn one<T: KvTx + ?Sized, H: Handler<T>>(
    tx: &mut T,
    handler: &H,
    rules: &Rules,
    failures: &mut Failures,
    job: &Job<H::Prepared>,
    token: &Lease,
) -> Result<Outcome, Status> {
    let depth = tx.nested_depth();
    tx.begin_nested()?;
    match finish(tx, handler, rules, failures, job, token) {
        Ok(settled) => {
            tx.commit_nested()?;
            Ok(Outcome::Settled(settled))
        }
        Err(Stop::Lost) => {
            roll_back(tx, depth)?;
            dispose::drop_orphan_lease(tx, job.claimed.slot, token)?;
            Ok(Outcome::Lost)
        }
        Err(Stop::Failed(failure)) => {
            roll_back(tx, depth)?;
            dispose::failed(tx, rules, failures, job, token, failure)
        }
    }
}

/// Why a job did not finish; whatever it did is undone.
enum Stop {
    Lost,
    Failed(Status),
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

fn finish<T: KvTx + ?Sized, H: Handler<T>>(
    tx: &mut T,
    handler: &H,
    rules: &Rules,
    failures: &mut Failures,
    job: &Job<H::Prepared>,
    token: &Lease,
) -> Result<Settled, Stop> {
    let prepared = match &job.ready {
        Ready::Undecodable(wire) => return Err(Stop::Failed(Status::Wire(*wire))),
        Ready::Refused(refused) => return Err(Stop::Failed(refused.clone())),
        Ready::Repeated => None,
        Ready::Prepared(prepared) => Some(prepared),
    };
    // Row and lease go first: that checks the claim, and a handler that looks at its inbox sees it without this row.
    if dispose::remove(tx, job.claimed.slot, token, &job.claimed.frame)? == Removal::NotOurs {
        return Err(Stop::Lost);
    }
    let message = MessageView::decode(&job.claimed.frame).map_err(Status::Wire)?;
    let once = message.flags.contains(Flags::DEDUPE_REQUIRED);
    let window = rules.policy.dedupe_window_ms;
    // Asked again here, because another worker may have accepted the id since the claim.
    let repeated =
        prepared.is_none() || (once && dedupe::is_repetition(tx, message.id, rules.now, window)?);
    if let (Some(prepared), false) = (prepared, repeated) {
        let attempt = failures.of(tx, message.id)?.saturating_add(1);
        let step = Step::new(rules.now, rules.worker, Some(job.claimed.slot), attempt);
        run(tx, handler, &rules.sink, step, prepared, &message)?;
        if once {
            dedupe::remember(tx, message.id, &DedupeRecord::accepted_at(rules.now))?;
        }
    }
    failures.clear(tx, message.id)?;
    let disposition = if repeated {
        Disposition::Repeated
    } else {
        Disposition::Acked
    };
    Ok(Settled {
        failure: None,
        returned: None,
        disposition,
    })
}

fn run<T: KvTx + ?Sized, H: Handler<T>>(
    tx: &mut T,
    handler: &H,
    sink: &Sink,
    mut step: Step,
    prepared: &H::Prepared,
    message: &MessageView<'_>,
) -> Result<(), Status> {
    caught(|| handler.apply(prepared, message, tx, &mut step))?;
    step.route(tx, sink)
}

/// Undoes the job's frame, and before it those the handler opened and never closed.
fn roll_back<T: KvTx + ?Sized>(tx: &mut T, depth: Option<usize>) -> Result<(), Status> {
    while let (Some(outside), Some(inside)) = (depth, tx.nested_depth())
        && inside > outside + 1
    {
        tx.rollback_nested()?;
    }
    tx.rollback_nested()
}
