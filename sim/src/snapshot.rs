//! The database as it is after a step, for the checker: whole, and read apart from the code that is being checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use kiln_control::billing::BILLING;
use kiln_control::tasks::Task;
use kiln_kernel::{Dbi, MessageView, TimerKey};
use kiln_model::{Digest, Kind, Priority, Status};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::job_event::{self, JobEvent};
use kiln_store::sql::queue::{self, Queue};
use kiln_store::sql::setting;
use kiln_store::{Error, Query, Row, Value};

/// More events than any job of a small world has.
const EVENTS: i64 = 1_000;

#[derive(Debug, Default, PartialEq)]
pub(crate) struct Snapshot {
    pub(crate) jobs: BTreeMap<i64, Arc<Seen>>,
    pub(crate) outputs: BTreeMap<(i64, i64), Arc<SeenOutput>>,
    pub(crate) queues: Vec<Queue>,
    pub(crate) timers: Vec<(TimerKey, Task)>,
    pub(crate) waiting_frames: usize,
    pub(crate) dead_letters: usize,
    pub(crate) session_is_abandoned: bool,
    /// What each job owes, in order.
    pub(crate) minutes: BTreeMap<i64, Vec<i64>>,
    /// How many of all these nobody was told of.
    pub(crate) minutes_owed: usize,
}

/// The database after a step, unless the step changed no row.
#[derive(Debug)]
pub(crate) struct Look {
    /// How many rows this connection ever changed.
    pub(crate) changes: i64,
    pub(crate) snapshot: Option<Snapshot>,
}

/// A job and all of its events.
#[derive(Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) job: Job,
    pub(crate) events: Vec<JobEvent>,
    /// Enough columns to notice when a row must be read again.
    fingerprint: Vec<Value>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct SeenOutput {
    pub(crate) digest: Digest,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) object_key: Option<String>,
}

impl Look {
    pub(crate) fn take(
        query: &mut dyn Query,
        before: &Snapshot,
        changes_before: i64,
    ) -> Result<Self, Error> {
        let row = query.query_one("SELECT total_changes()", &[])?;
        let changes = row.ok_or_else(|| corrupt("a count"))?.get(0)?;
        let snapshot = if changes == changes_before {
            None
        } else {
            Some(Snapshot::read(query, before)?)
        };
        Ok(Self { changes, snapshot })
    }
}

impl Snapshot {
    /// Reads everything; rows that did not change since `before` are shared with it.
    fn read(query: &mut dyn Query, before: &Self) -> Result<Self, Error> {
        let mut snapshot = Self {
            queues: queues(query)?,
            session_is_abandoned: setting::get(query, "compute.session")?.as_deref()
                == Some("abandoned"),
            ..Self::default()
        };
        snapshot.read_kernel(query)?;
        snapshot.read_minutes(query)?;
        let rows = query.query(
            "SELECT id, status, epoch, runner_id, published, retry_count, cause, events, admitted, timer_due, \
             timer_seq, root_id, queue_id, lease_tick, modified, slot FROM job",
            &[],
        )?;
        for Row(fingerprint) in rows {
            let id = Row(fingerprint.clone()).get(0)?;
            let seen = match before.jobs.get(&id) {
                Some(seen) if seen.fingerprint == fingerprint => Arc::clone(seen),
                known => Arc::new(Seen::read(query, id, fingerprint, known.map(Arc::as_ref))?),
            };
            snapshot.jobs.insert(id, seen);
        }
        let rows = query.query(
            "SELECT job_id, epoch, digest, body, object_key FROM job_output",
            &[],
        )?;
        for row in rows {
            let digest: String = row.get(2)?;
            let seen = SeenOutput {
                digest: digest.parse().map_err(|_| corrupt("a digest"))?,
                body: row.get(3)?,
                object_key: row.get(4)?,
            };
            snapshot
                .outputs
                .insert((row.get(0)?, row.get(1)?), Arc::new(seen));
        }
        Ok(snapshot)
    }

    fn read_kernel(&mut self, query: &mut dyn Query) -> Result<(), Error> {
        let rows = query.query(
            "SELECT dbi, key, value FROM kernel WHERE dbi IN (1, 4, 6) ORDER BY dbi, key",
            &[],
        )?;
        for row in rows {
            match Dbi(row.get(0)?) {
                Dbi::INBOX => self.waiting_frames += 1,
                Dbi::DEAD_LETTER => self.dead_letters += 1,
                _ => self.timers.extend(timer(&row)?),
            }
        }
        Ok(())
    }

    fn read_minutes(&mut self, query: &mut dyn Query) -> Result<(), Error> {
        let rows = query.query(
            "SELECT job_id, minute, settled FROM billing_minute ORDER BY job_id, minute",
            &[],
        )?;
        for row in rows {
            self.minutes
                .entry(row.get(0)?)
                .or_default()
                .push(row.get(1)?);
            self.minutes_owed += usize::from(row.get::<Option<i64>>(2)?.is_none());
        }
        Ok(())
    }

    /// Events that `before` does not have, in order.
    pub(crate) fn fresh_events<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a Seen, &'a JobEvent)> {
        self.jobs.iter().flat_map(|(id, seen)| {
            let known = before.jobs.get(id).map_or(0, |seen| seen.events.len());
            seen.events[known.min(seen.events.len())..]
                .iter()
                .map(move |event| (&**seen, event))
        })
    }

    pub(crate) fn job(&self, id: i64) -> Option<&Job> {
        self.jobs.get(&id).map(|seen| &seen.job)
    }

    pub(crate) fn all_jobs(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().map(|seen| &seen.job)
    }
}

impl Seen {
    fn read(
        query: &mut dyn Query,
        id: i64,
        fingerprint: Vec<Value>,
        before: Option<&Self>,
    ) -> Result<Self, Error> {
        let job = job::find(query, id)?.ok_or_else(|| corrupt("a job that is there and is not"))?;
        let mut events = before.map(|seen| seen.events.clone()).unwrap_or_default();
        let last = events.last().map_or(0, |event| event.number);
        events.extend(job_event::after(query, id, last, EVENTS)?);
        Ok(Self {
            job,
            events,
            fingerprint,
        })
    }
}

/// What makes one pending job go before another; written down a second time on purpose.
pub(crate) fn claim_order(job: &Job) -> (std::cmp::Reverse<Priority>, kiln_model::Millis, i64) {
    (std::cmp::Reverse(job.ask.priority), job.ask.created, job.id)
}

/// Whether something still has to happen to this job by itself or by its user's program.
pub(crate) fn is_unfinished(job: &Job) -> bool {
    match job.life.status {
        Status::Pending | Status::Claimed | Status::Running => true,
        Status::Completed => job.ask.kind != Kind::Bench,
        Status::Processed | Status::Failed | Status::Canceled | Status::Abandoned => false,
    }
}

fn queues(query: &mut dyn Query) -> Result<Vec<Queue>, Error> {
    let ids = query.query("SELECT id FROM queue ORDER BY id", &[])?;
    let mut queues = Vec::with_capacity(ids.len());
    for row in ids {
        queues.extend(queue::find(query, row.get(0)?)?);
    }
    Ok(queues)
}

/// A timer of the server's own; none for one of the outbox.
fn timer(row: &Row) -> Result<Option<(TimerKey, Task)>, Error> {
    let (key, frame): (Vec<u8>, Vec<u8>) = (row.get(1)?, row.get(2)?);
    let key = TimerKey::decode(&key).map_err(|_| corrupt("a timer's key"))?;
    let message = MessageView::decode(&frame).map_err(|_| corrupt("a timer's frame"))?;
    if message.is_for(BILLING) {
        return Ok(None);
    }
    let task = serde_json::from_slice(message.payload).map_err(|_| corrupt("a timer's task"))?;
    Ok(Some((key, task)))
}

fn corrupt(what: &str) -> Error {
    Error::Corrupt {
        what: what.to_owned(),
    }
}
