//! What people and their programs ask of the server.

use kiln_control::bench::{self, BenchSettings, ImageReference, Submission, Submitted};
use kiln_control::jobs::{self, Canceled};
use kiln_control::{Denied, queues, session};
use kiln_model::Digest;
use kiln_store::sql::job::{self, NewJob};
use kiln_store::sql::project::Project;
use kiln_store::{DatabaseErrorKind, Error, Tx};

use super::{Server, Trouble, unexpected};
use crate::note::Note;

impl Server {
    /// A bench run. Sent again with the same idempotency key, it is the same run.
    pub(crate) fn submit_run(
        &mut self,
        submission: Submission,
        settings: BenchSettings,
        notes: &mut Vec<Note>,
    ) -> Result<Option<i64>, Trouble> {
        let submitted = self.write(move |tx: &mut dyn Tx| {
            match bench::submit_run(tx, &submission, &settings, resolve)? {
                Submitted::New { job, .. } => Ok(job.map(|job| job.id)),
                Submitted::Before { report } => {
                    Ok(job::of_report(tx, report.id)?.map(|job| job.id))
                }
            }
        })?;
        let job = submitted.map_err(unexpected)?;
        let id = job.ok_or_else(|| Trouble::Unexpected("a report without its job".to_owned()))?;
        notes.push(Note::Submitted { job: id });
        Ok(Some(id))
    }

    /// An action or a runtime job; nothing when its queue takes none.
    pub(crate) fn submit_job(
        &mut self,
        ask: NewJob,
        notes: &mut Vec<Note>,
    ) -> Result<Option<i64>, Trouble> {
        let public_id = ask.public_id.clone();
        let submitted =
            self.write(move |tx: &mut dyn Tx| Ok(jobs::submit(tx, ask.clone(), "user")?.id))?;
        let id = match submitted {
            Ok(id) => id,
            Err(Denied::QueueClosed) => return Ok(None),
            Err(Denied::Store(Error::Database {
                kind: DatabaseErrorKind::Constraint,
                ..
            })) => self.find_public(public_id)?,
            Err(denied) => return Err(unexpected(denied)),
        };
        notes.push(Note::Submitted { job: id });
        Ok(Some(id))
    }

    pub(crate) fn cancel(
        &mut self,
        id: i64,
        notes: &mut Vec<Note>,
    ) -> Result<&'static str, Trouble> {
        match self.write(move |tx: &mut dyn Tx| jobs::cancel(tx, id, "user"))? {
            Ok(outcome) => {
                notes.push(Note::ToldCanceled { job: id });
                Ok(match outcome {
                    Canceled::Now => "canceled",
                    Canceled::Already => "canceled before",
                })
            }
            Err(Denied::Ended(_)) => Ok("too late"),
            Err(denied) => Err(unexpected(denied)),
        }
    }

    /// The result was fetched, or ingest took it; tells whether that was news.
    pub(crate) fn process(&mut self, id: i64, epoch: i64) -> Result<bool, Trouble> {
        self.write(move |tx: &mut dyn Tx| jobs::process(tx, id, epoch, "user"))?
            .map_err(unexpected)
    }

    pub(crate) fn refuse_hand_off(&mut self, id: i64, epoch: i64) -> Result<bool, Trouble> {
        self.write(move |tx: &mut dyn Tx| {
            jobs::refuse_hand_off(tx, id, epoch, "ingest says no", "ingest")
        })?
        .map_err(unexpected)
    }

    pub(crate) fn retry(&mut self, id: i64) -> Result<bool, Trouble> {
        match self.write(move |tx: &mut dyn Tx| jobs::retry(tx, id, "user"))? {
            Ok(_) => Ok(true),
            Err(Denied::Illegal { .. } | Denied::RetriesSpent(_) | Denied::QueueClosed) => {
                Ok(false)
            }
            Err(denied) => Err(unexpected(denied)),
        }
    }

    pub(crate) fn drain_queue(&mut self, id: i64) -> Result<(), Trouble> {
        self.write(move |tx: &mut dyn Tx| queues::drain(tx, id))?
            .map_err(unexpected)
    }

    pub(crate) fn cancel_queue(&mut self, id: i64) -> Result<(), Trouble> {
        self.write(move |tx: &mut dyn Tx| queues::cancel(tx, id))?
            .map_err(unexpected)
    }

    pub(crate) fn abandon_session(&mut self) -> Result<(), Trouble> {
        self.write(|tx: &mut dyn Tx| session::abandon(tx))?
            .map_err(unexpected)
    }

    pub(crate) fn reopen_session(&mut self) -> Result<(), Trouble> {
        self.write(|tx: &mut dyn Tx| session::reopen(tx))?
            .map_err(unexpected)
    }

    fn find_public(&self, public_id: Option<String>) -> Result<i64, Trouble> {
        let public_id = public_id.unwrap_or_default();
        let found = self
            .store
            .reader
            .read(move |query| Ok::<_, Denied>(job::find_public(query, &public_id)?))
            .wait()
            .map_err(unexpected)?;
        found
            .map(|job| job.id)
            .ok_or_else(|| Trouble::Unexpected("a constraint without its cause".to_owned()))
    }
}

/// Every image is there.
#[expect(clippy::unnecessary_wraps, reason = "the type of a resolver")]
fn resolve(_: &mut dyn Tx, _: &Project, _: &ImageReference<'_>, _: &str) -> Result<Digest, Denied> {
    Ok(Digest::from_hash(&[7; 32]).expect("SHA-256 has 32 bytes"))
}
