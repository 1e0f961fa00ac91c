//! Runs tasks: the slow half outside any transaction, the rest in the one that removes the frame.

use std::fmt;
use std::sync::Arc;

use kiln_kernel::{Handler, Kv as _, MessageView, Preparing, Slot, Status, Step, TimerKey};
use kiln_model::{Digest, Millis};
use kiln_store::sql::{job, job_output, job_upload, report};
use kiln_store::tape::KernelStore;
use kiln_store::{DatabaseErrorKind, Error, ObjectKey, Query, Tx};

use super::{Part, Task, Watch};
use crate::bench::{self, Parsed};
use crate::housekeeping::{self, Housekeeper};
use crate::{Denied, jobs, queues, session};

/// Where outputs lie that did not fit into a message.
pub trait Objects: Send + Sync + fmt::Debug {
    /// The whole of an object.
    fn get(&self, key: &ObjectKey, digest: &Digest) -> Result<Vec<u8>, Error>;
}

/// The kernel's handler for every task of the server.
#[derive(Debug)]
pub struct TaskHandler {
    /// What the slow half reads from, and does things outside through: so that a replay can answer for both.
    pub store: KernelStore,
    pub objects: Arc<dyn Objects>,
    pub housekeeper: Arc<dyn Housekeeper>,
    pub watch: Arc<dyn Watch>,
    /// Kernel time at which this server began to listen.
    pub opened: Millis,
}

/// What the slow half found out.
#[derive(Debug)]
pub enum Prepared {
    Nothing(Task),
    /// An output was read.
    Result {
        job: i64,
        epoch: i64,
        parsed: Parsed,
    },
    /// A page was looked after.
    Tidied {
        next: Option<String>,
    },
}

impl Handler<dyn Tx> for TaskHandler {
    type Prepared = Prepared;

    fn prepare(&self, message: &MessageView<'_>, _: &Preparing<'_>) -> Result<Prepared, Status> {
        let task = serde_json::from_slice(message.payload)
            .map_err(|error| Status::Corrupt(format!("a task cannot be read: {error}")))?;
        match task {
            Task::Process { job, epoch } => self.read_result(job, epoch),
            Task::Housekeeping { from } => {
                let next = self.store.outside("look after a page", &from, || {
                    self.housekeeper.page(from.as_deref())
                });
                let next = next.map_err(|error| Status::Store(error.to_string()))?;
                Ok(Prepared::Tidied { next })
            }
            task @ (Task::Deadline { .. }
            | Task::QueueIdle { .. }
            | Task::CancelQueue { .. }
            | Task::AbandonActions
            | Task::ForgetNumbers { .. }) => Ok(Prepared::Nothing(task)),
        }
    }

    fn apply(
        &self,
        prepared: &Prepared,
        _: &MessageView<'_>,
        tx: &mut (dyn Tx + 'static),
        step: &mut Step,
    ) -> Result<(), Status> {
        let outcome = match prepared {
            Prepared::Result { job, epoch, parsed } => {
                let began = self.watch.clock();
                bench::keep(tx, *job, *epoch, parsed).map(|metrics| {
                    self.watch.measured(metrics);
                    self.watch.took(Part::Write, began);
                })
            }
            Prepared::Nothing(Task::Deadline { job }) => {
                jobs::deadline::fire(tx, *job, fired(step), self.opened)
                    .map(|passed| passed.into_iter().for_each(|why| self.watch.passed(why)))
            }
            Prepared::Nothing(Task::QueueIdle { queue }) => queues::expire(tx, *queue).map(drop),
            Prepared::Nothing(Task::CancelQueue { queue }) => queues::cancel_some(tx, *queue),
            Prepared::Nothing(Task::AbandonActions) => session::abandon_some(tx),
            Prepared::Nothing(Task::ForgetNumbers { project }) => bench::forget(tx, *project),
            // The job was deleted, or its result is not in this epoch any more.
            Prepared::Nothing(Task::Process { .. } | Task::Housekeeping { .. }) => Ok(()),
            Prepared::Tidied { next } => housekeeping::turn(tx, next.clone()),
        };
        outcome.map_err(status)
    }
}

impl TaskHandler {
    fn read_result(&self, id: i64, epoch: i64) -> Result<Prepared, Status> {
        let found = self
            .store
            .read(move |tx| load(tx, id, epoch).map_err(status))?;
        let Some(found) = found else {
            return Ok(Prepared::Nothing(Task::Process { job: id, epoch }));
        };
        let began = self.watch.clock();
        let parsed = self.parse(&found)?;
        self.watch.took(Part::Read, began);
        Ok(Prepared::Result {
            job: id,
            epoch,
            parsed,
        })
    }

    /// Reads the output, with what was uploaded beside it.
    fn parse(&self, found: &Found) -> Result<Parsed, Status> {
        let unread = |error: &dyn fmt::Display| {
            Status::Store(format!("an uploaded output was not read: {error}"))
        };
        let named = bench::large_digest(&found.body);
        let upload = found
            .uploads
            .iter()
            .find(|upload| Some(&upload.digest) == named.as_ref());
        let Some(upload) = upload else {
            return Ok(bench::parse(&found.report, &found.config, &found.body, ""));
        };
        let key = ObjectKey::parse(&upload.object_key).map_err(|error| unread(&error))?;
        let asked = (key.to_string(), upload.digest.to_string());
        let uploaded = self.store.outside("read an uploaded output", &asked, || {
            let bytes = self.objects.get(&key, &upload.digest)?;
            Ok(String::from_utf8(bytes).unwrap_or_default())
        });
        let uploaded = uploaded.map_err(|error| unread(&error))?;
        Ok(bench::parse(
            &found.report,
            &found.config,
            &found.body,
            &uploaded,
        ))
    }
}

struct Found {
    report: report::Report,
    /// The job's own words about what it is.
    config: String,
    body: Vec<u8>,
    /// What the output may name.
    uploads: Vec<job_upload::Upload>,
}

fn load(query: &mut dyn Query, id: i64, epoch: i64) -> Result<Option<Found>, Denied> {
    let Some(found) = job::find(query, id)? else {
        return Ok(None);
    };
    let Some(report) = found.ask.report else {
        return Ok(None);
    };
    let output = job_output::find(query, id, epoch)?;
    let Some(body) = output.and_then(|output| output.body) else {
        return Ok(None);
    };
    let report = report::find(query, report)?.ok_or(Denied::NotFound("report"))?;
    Ok(Some(Found {
        report,
        config: found.ask.work,
        body,
        uploads: job_upload::named(query, id, epoch)?,
    }))
}

/// The timer that is firing, if one is.
fn fired(step: &Step) -> Option<TimerKey> {
    match step.slot() {
        Some(Slot::Timer(key)) => Some(key),
        Some(Slot::Inbox(_)) | None => None,
    }
}

/// Trouble that passes is retried quietly; anything else is counted, shown, and in the end a dead letter.
pub(crate) fn status(denied: Denied) -> Status {
    match denied {
        Denied::Raced => Status::Conflict,
        Denied::Store(Error::Database {
            kind: DatabaseErrorKind::Conflict,
            ..
        }) => Status::Busy,
        Denied::Kernel(status) => status,
        Denied::NotFound(_)
        | Denied::NotHolder
        | Denied::Revoked
        | Denied::Illegal { .. }
        | Denied::Ended(_)
        | Denied::QueueClosed
        | Denied::RetriesSpent(_)
        | Denied::Invalid(_)
        | Denied::Taken(_)
        | Denied::InUse { .. }
        | Denied::Conflict(_)
        | Denied::TooLarge(_)
        | Denied::OutOfOrder { .. }
        | Denied::NotUploaded
        | Denied::Unauthorized
        | Denied::TooMany(_)
        | Denied::Forbidden
        | Denied::Store(_) => Status::Error(denied.to_string()),
    }
}
