//! The doors that name leases: actions by job and epoch, runtime jobs by lease id.

use kiln_control::Denied;
use kiln_control::jobs::{self, Claim, Delivered, Directive, Holder, Output};
use kiln_model::Slot;
use kiln_store::Tx;
use kiln_store::sql::job;

use super::{Server, Trouble, unexpected};
use crate::note::Note;
use crate::wire::{Assignment, Ending, LastWord, Reply, Request};

impl Server {
    /// Carries out a request of a runner. `lease_id` names the lease if this is a claim that gets a job.
    pub(crate) fn answer(
        &mut self,
        runner: i64,
        request: &Request,
        lease_id: Option<String>,
        notes: &mut Vec<Note>,
    ) -> Result<Reply, Trouble> {
        match request {
            Request::Claim => self.claim(runner, lease_id, notes),
            Request::Start(of) => self.start_job(runner, of, notes),
            Request::Beat(of) => {
                if self.over.contains(&(of.job, of.epoch)) {
                    return Ok(Reply::Stop);
                }
                self.beat(of.job, of.epoch);
                Ok(Reply::Continue)
            }
            Request::Last(last) => {
                notes.push(Note::Word {
                    runner,
                    of: last.of.clone(),
                });
                self.last_word(runner, last, notes)
            }
        }
    }

    fn claim(
        &mut self,
        runner: i64,
        lease_id: Option<String>,
        notes: &mut Vec<Note>,
    ) -> Result<Reply, Trouble> {
        let claimed = self.write(move |tx: &mut dyn Tx| {
            let claim = Claim {
                runner,
                slot: Slot::WHOLE,
                actor: &actor(runner),
                lease_id: lease_id.as_deref(),
            };
            jobs::claim(tx, &claim)
        })?;
        let claimed = claimed.map_err(unexpected)?.into_job();
        notes.push(Note::Claim {
            runner,
            slot: None,
            forgets: false,
            got: claimed.as_ref().map(|job| job.id),
        });
        Ok(Reply::Claimed(claimed.map(|job| Assignment {
            job: job.id,
            epoch: job.life.epoch,
            public_id: job.ask.public_id,
            lease_id: job.life.lease_id,
        })))
    }

    fn start_job(
        &mut self,
        runner: i64,
        of: &Assignment,
        notes: &mut Vec<Note>,
    ) -> Result<Reply, Trouble> {
        notes.push(Note::Word {
            runner,
            of: of.clone(),
        });
        let wanted = of.clone();
        let started = self.write(move |tx: &mut dyn Tx| {
            let (id, holder) = holder(tx, runner, &wanted)?;
            jobs::start(tx, id, holder, &actor(runner))
        })?;
        match started {
            Ok(Directive::Continue) => {
                notes.push(Note::Started {
                    job: of.job,
                    epoch: of.epoch,
                });
                Ok(Reply::Continue)
            }
            Ok(Directive::Stop)
            | Err(Denied::NotHolder | Denied::NotFound(_) | Denied::Ended(_)) => Ok(Reply::Stop),
            Err(denied) => Err(unexpected(denied)),
        }
    }

    fn last_word(
        &mut self,
        runner: i64,
        last: &LastWord,
        notes: &mut Vec<Note>,
    ) -> Result<Reply, Trouble> {
        let (wanted, ending) = (last.of.clone(), last.ending);
        let output = Output::new(last.text.clone().into_bytes());
        let kept = output.clone();
        let outcome = self.write(move |tx: &mut dyn Tx| {
            let (id, holder) = holder(tx, runner, &wanted)?;
            match ending {
                Ending::Completed => jobs::complete(tx, id, holder, &output, &actor(runner)),
                Ending::Failed => {
                    jobs::fail(tx, id, holder, Some(&output), "it failed", &actor(runner))
                }
                Ending::Canceled => jobs::runner_canceled(tx, id, holder, None, &actor(runner))
                    .map(|_| Delivered::Duplicate),
            }
        })?;
        match outcome {
            Ok(Delivered::Accepted) if ending == Ending::Completed => {
                notes.push(Note::Accepted {
                    job: last.of.job,
                    epoch: last.of.epoch,
                    digest: kept.digest().clone(),
                    body: kept.body().to_vec(),
                    uploaded: None,
                });
                Ok(Reply::Settled)
            }
            Ok(_) | Err(Denied::NotHolder | Denied::NotFound(_)) => Ok(Reply::Settled),
            Err(denied) => Err(unexpected(denied)),
        }
    }
}

pub(super) fn actor(runner: i64) -> String {
    format!("runner:{runner}")
}

/// Whose word this is, as the door of the job reads it off the request.
fn holder(tx: &mut dyn Tx, runner: i64, of: &Assignment) -> Result<(i64, Holder), Denied> {
    let id = match &of.lease_id {
        Some(lease) => {
            let found = job::find_lease(tx, lease)?.ok_or(Denied::NotFound("lease"))?;
            found.id
        }
        None => of.job,
    };
    let epoch = Some(of.epoch);
    Ok((id, Holder { runner, epoch }))
}
