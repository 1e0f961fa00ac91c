//! Jobs. One row is one job of any door; a status changes only through [`save`].

use std::time::Duration;

use kiln_model::{Kind, Millis, Priority, Retry, Status, Timeouts, Trigger};

use crate::{Error, Query, Row, Tx, params};

/// A job, as stored: what was asked for, and where it is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: i64,
    pub ask: NewJob,
    pub life: Life,
}

/// What was asked for. Never changes after submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    pub public_id: Option<String>,
    pub kind: Kind,
    pub lane: i64,
    pub organization: Option<i64>,
    pub project: Option<i64>,
    pub report: Option<i64>,
    pub spec: Option<i64>,
    pub queue: Option<i64>,
    pub source_address: Option<String>,
    pub limit_key: Option<String>,
    pub priority: Priority,
    /// What to run, as the job's door writes it.
    pub work: String,
    pub timeouts: Timeouts,
    pub retry: Retry,
    pub retry_of: Option<i64>,
    pub root: Option<i64>,
    pub created: Millis,
    /// It may run beside other jobs that may; any other has its runner to itself.
    pub shared: bool,
}

/// Where a job is in its life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    pub status: Status,
    pub epoch: i64,
    pub admitted: bool,
    pub retry_count: u32,
    pub published: bool,
    pub runner: Option<i64>,
    /// Which slot of the runner; none is the whole runner.
    pub slot: Option<u32>,
    pub lease_id: Option<String>,
    /// What ended it.
    pub cause: Option<Trigger>,
    pub message: Option<String>,
    /// How many events it has.
    pub events: i64,
    /// The kernel timer of its next deadline: due time and sequence.
    pub timer: Option<(Millis, i64)>,
    pub pending_tick: Millis,
    pub claimed_tick: Option<Millis>,
    pub started_tick: Option<Millis>,
    pub lease_tick: Option<Millis>,
    pub claimed: Option<Millis>,
    pub started: Option<Millis>,
    pub ended: Option<Millis>,
    pub modified: Millis,
    /// How many of its minutes are written down to be billed.
    pub billed: i64,
}

impl Life {
    /// A job that was just submitted and is not yet admitted.
    pub const fn new(now: Millis, wall: Millis, retry_count: u32) -> Self {
        Self {
            status: Status::Pending,
            epoch: 0,
            admitted: false,
            retry_count,
            published: false,
            runner: None,
            slot: None,
            lease_id: None,
            cause: None,
            message: None,
            events: 0,
            timer: None,
            pending_tick: now,
            claimed_tick: None,
            started_tick: None,
            lease_tick: None,
            claimed: None,
            started: None,
            ended: None,
            modified: wall,
            billed: 0,
        }
    }
}

/// What makes one pending job go before another: smaller first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClaimOrder {
    negated_priority: i64,
    created: Millis,
    pub id: i64,
}

const COLUMNS: &str = "id, public_id, kind, lane_id, organization_id, project_id, report_id, spec_id, \
    queue_id, source_address, limit_key, priority, work, run_ms, grace_ms, lease_ms, set_up_ms, \
    pending_ms, retry, retry_max, retry_of, root_id, created, status, epoch, admitted, retry_count, \
    published, runner_id, lease_id, cause, message, events, timer_due, timer_seq, pending_tick, \
    claimed_tick, started_tick, lease_tick, claimed, started, ended, modified, billed, slot, \
    shared";

/// Inserts a job and answers its id.
pub fn insert(tx: &mut dyn Tx, ask: &NewJob, life: &Life) -> Result<i64, Error> {
    let (retry, retry_max) = retry_columns(ask.retry);
    let row = tx.query_one(
        "INSERT INTO job (public_id, kind, lane_id, organization_id, project_id, report_id, spec_id, \
         queue_id, source_address, limit_key, priority, work, run_ms, grace_ms, lease_ms, set_up_ms, \
         pending_ms, retry, retry_max, retry_of, root_id, created, status, epoch, admitted, \
         retry_count, published, events, pending_tick, modified, shared) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, \
         ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31) RETURNING id",
        params![
            ask.public_id.as_deref(),
            ask.kind.code(),
            ask.lane,
            ask.organization,
            ask.project,
            ask.report,
            ask.spec,
            ask.queue,
            ask.source_address.as_deref(),
            ask.limit_key.as_deref(),
            ask.priority.0,
            ask.work.as_str(),
            millis(ask.timeouts.run),
            millis(ask.timeouts.grace),
            millis(ask.timeouts.lease),
            millis(ask.timeouts.set_up),
            ask.timeouts.pending.map(millis),
            retry,
            retry_max,
            ask.retry_of,
            ask.root,
            ask.created,
            life.status.code(),
            life.epoch,
            life.admitted,
            life.retry_count,
            life.published,
            life.events,
            life.pending_tick,
            life.modified,
            ask.shared
        ],
    )?;
    super::inserted_id(row)
}

/// Writes `life` back if the row is still in `from` and `epoch`; false means that it is not: read again. The name of the lease is
/// written by [`set_lease_id`] alone: naming its column here would touch its index at every step of every job.
pub fn save(
    tx: &mut dyn Tx,
    id: i64,
    life: &Life,
    from: Status,
    epoch: i64,
) -> Result<bool, Error> {
    let changed = tx.execute(
        "UPDATE job SET status = ?1, epoch = ?2, admitted = ?3, retry_count = ?4, published = ?5, \
         runner_id = ?6, cause = ?7, message = ?8, events = ?9, timer_due = ?10, \
         timer_seq = ?11, pending_tick = ?12, claimed_tick = ?13, started_tick = ?14, lease_tick = ?15, \
         claimed = ?16, started = ?17, ended = ?18, modified = ?19, billed = ?20, \
         slot = ?21 WHERE id = ?22 AND status = ?23 AND epoch = ?24",
        params![
            life.status.code(),
            life.epoch,
            life.admitted,
            life.retry_count,
            life.published,
            life.runner,
            life.cause.map(Trigger::code),
            life.message.as_deref(),
            life.events,
            life.timer.map(|timer| timer.0),
            life.timer.map(|timer| timer.1),
            life.pending_tick,
            life.claimed_tick,
            life.started_tick,
            life.lease_tick,
            life.claimed,
            life.started,
            life.ended,
            life.modified,
            life.billed,
            life.slot,
            id,
            from.code(),
            epoch
        ],
    )?;
    Ok(changed == 1)
}

pub fn find<Q: Query + ?Sized>(query: &mut Q, id: i64) -> Result<Option<Job>, Error> {
    one(
        query,
        &format!("SELECT {COLUMNS} FROM job WHERE id = ?1"),
        params![id],
    )
}

/// The same, and nobody else changes it before this transaction ends.
pub fn lock(tx: &mut dyn Tx, id: i64) -> Result<Option<Job>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM job WHERE id = ?1{}", tx.for_update());
    one(tx, &sql, params![id])
}

pub fn find_public<Q: Query + ?Sized>(
    query: &mut Q,
    public_id: &str,
) -> Result<Option<Job>, Error> {
    one(
        query,
        &format!("SELECT {COLUMNS} FROM job WHERE public_id = ?1"),
        params![public_id],
    )
}

pub fn find_lease<Q: Query + ?Sized>(query: &mut Q, lease_id: &str) -> Result<Option<Job>, Error> {
    one(
        query,
        &format!("SELECT {COLUMNS} FROM job WHERE lease_id = ?1"),
        params![lease_id],
    )
}

pub fn of_report<Q: Query + ?Sized>(query: &mut Q, report: i64) -> Result<Option<Job>, Error> {
    one(
        query,
        &format!("SELECT {COLUMNS} FROM job WHERE report_id = ?1"),
        params![report],
    )
}

/// The jobs a runner holds, in all of its slots, oldest claim first.
pub fn held_by<Q: Query + ?Sized>(query: &mut Q, runner: i64) -> Result<Vec<Job>, Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE runner_id = ?1 AND status IN (1, 2) ORDER BY claimed_tick, id"
    );
    query
        .query(&sql, params![runner])?
        .iter()
        .map(read)
        .collect()
}

/// Whether a runner holds a job.
pub fn is_held_by<Q: Query + ?Sized>(query: &mut Q, runner: i64) -> Result<bool, Error> {
    let sql = "SELECT id FROM job WHERE runner_id = ?1 AND status IN (1, 2) LIMIT 1";
    Ok(query.query_one(sql, params![runner])?.is_some())
}

/// Which jobs of a project, and in what order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    pub status: Option<Status>,
    pub oldest_first: bool,
    pub limit: i64,
    pub offset: i64,
}

/// A page of the jobs of a project, newest first unless asked otherwise.
pub fn of_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    listing: Listing,
) -> Result<Vec<Job>, Error> {
    let order = if listing.oldest_first {
        "created, id"
    } else {
        "created DESC, id DESC"
    };
    let (filter, status) = by_status(listing.status);
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE project_id = ?1 {filter} ORDER BY {order} LIMIT ?3 OFFSET ?4"
    );
    query
        .query(
            &sql,
            params![project, status, listing.limit, listing.offset],
        )?
        .iter()
        .map(read)
        .collect()
}

pub fn count_of_project<Q: Query + ?Sized>(
    query: &mut Q,
    project: i64,
    status: Option<Status>,
) -> Result<u64, Error> {
    let (filter, status) = by_status(status);
    let sql = format!("SELECT COUNT(*) FROM job WHERE project_id = ?1 {filter}");
    let row = query.query_one(&sql, params![project, status])?;
    row.ok_or_else(|| Error::Corrupt {
        what: "a count answered nothing".to_owned(),
    })?
    .get(0)
}

/// A condition on `?2`: without a status it holds for every job.
fn by_status(status: Option<Status>) -> (&'static str, i64) {
    match status {
        Some(status) => ("AND status = ?2", status.code()),
        None => ("AND status <> ?2", -1),
    }
}

/// Ids of the live jobs of a kind, or of one queue of it, up to `limit`.
pub fn live_actions<Q: Query + ?Sized>(
    query: &mut Q,
    queue: Option<i64>,
    limit: i64,
) -> Result<Vec<i64>, Error> {
    let rows = match queue {
        Some(queue) => query.query(
            "SELECT id FROM job WHERE queue_id = ?1 AND status IN (0, 1, 2) ORDER BY id LIMIT ?2",
            params![queue, limit],
        )?,
        None => query.query(
            "SELECT id FROM job WHERE kind = 1 AND status IN (0, 1, 2) ORDER BY id LIMIT ?1",
            params![limit],
        )?,
    };
    rows.iter().map(|row| row.get(0)).collect()
}

/// The job of a lane that a claim takes first, passing over what another transaction is taking now.
pub fn first_claimable(tx: &mut dyn Tx, lane: i64) -> Result<Option<ClaimOrder>, Error> {
    let sql = match tx.skip_locked() {
        "" => FIRST_CLAIMABLE,
        _ => {
            "SELECT priority, created, id FROM job WHERE lane_id = ?1 AND status = 0 AND admitted = 1 \
             ORDER BY priority DESC, created, id LIMIT 1 FOR UPDATE SKIP LOCKED"
        }
    };
    tx.query_one(sql, params![lane])?
        .as_ref()
        .map(order)
        .transpose()
}

const FIRST_CLAIMABLE: &str = "SELECT priority, created, id FROM job WHERE lane_id = ?1 AND status = 0 AND admitted = 1 \
    ORDER BY priority DESC, created, id LIMIT 1";

/// The same for a claim that may leave it to others: they must not pass over it meanwhile.
pub fn peek_claimable(tx: &mut dyn Tx, lane: i64) -> Result<Option<ClaimOrder>, Error> {
    tx.query_one(FIRST_CLAIMABLE, params![lane])?
        .as_ref()
        .map(order)
        .transpose()
}

/// How many jobs of a lane a claim could take now, counted up to `limit`.
pub fn count_claimable<Q: Query + ?Sized>(
    query: &mut Q,
    lane: i64,
    limit: i64,
) -> Result<i64, Error> {
    let row = query.query_one(
        "SELECT COUNT(*) FROM (SELECT id FROM job WHERE lane_id = ?1 AND status = 0 AND admitted = 1 \
         LIMIT ?2) AS claimable",
        params![lane, limit],
    )?;
    row.ok_or_else(|| Error::Corrupt {
        what: "a count answered nothing".to_owned(),
    })?
    .get(0)
}

/// Whether a job of this chain of retries has published its result.
pub fn chain_is_published<Q: Query + ?Sized>(query: &mut Q, root: i64) -> Result<bool, Error> {
    let row = query.query_one(
        "SELECT id FROM job WHERE root_id = ?1 AND published = 1",
        params![root],
    )?;
    Ok(row.is_some())
}

pub fn set_lease_id(tx: &mut dyn Tx, id: i64, lease_id: Option<&str>) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET lease_id = ?2 WHERE id = ?1",
        params![id, lease_id],
    )?;
    Ok(())
}

/// Notes that so many minutes of a job that runs are written down; false when it does not run in this epoch any more.
pub fn set_billed(tx: &mut dyn Tx, id: i64, epoch: i64, minutes: i64) -> Result<bool, Error> {
    let changed = tx.execute(
        "UPDATE job SET billed = ?3 WHERE id = ?1 AND epoch = ?2 AND status = 2 AND billed < ?3",
        params![id, epoch, minutes],
    )?;
    Ok(changed == 1)
}

/// Notes that a job that is held is answered for by another slot of the same runner.
pub fn set_slot(tx: &mut dyn Tx, id: i64, slot: Option<u32>) -> Result<(), Error> {
    tx.execute("UPDATE job SET slot = ?2 WHERE id = ?1", params![id, slot])?;
    Ok(())
}

pub fn set_root(tx: &mut dyn Tx, id: i64, root: i64) -> Result<(), Error> {
    tx.execute(
        "UPDATE job SET root_id = ?2 WHERE id = ?1",
        params![id, root],
    )?;
    Ok(())
}

pub(crate) fn status(code: i64) -> Result<Status, Error> {
    Status::from_code(code).ok_or_else(|| Error::Corrupt {
        what: format!("job status {code}"),
    })
}

fn one<Q: Query + ?Sized>(
    query: &mut Q,
    sql: &str,
    params: &[crate::Value],
) -> Result<Option<Job>, Error> {
    query.query_one(sql, params)?.as_ref().map(read).transpose()
}

fn order(row: &Row) -> Result<ClaimOrder, Error> {
    Ok(ClaimOrder {
        negated_priority: row.get::<i64>(0)?.saturating_neg(),
        created: row.get(1)?,
        id: row.get(2)?,
    })
}

fn read(row: &Row) -> Result<Job, Error> {
    let span = |index| row.get::<u64>(index).map(Duration::from_millis);
    Ok(Job {
        id: row.get(0)?,
        ask: NewJob {
            public_id: row.get(1)?,
            kind: {
                let code = row.get(2)?;
                Kind::from_code(code).ok_or_else(|| Error::Corrupt {
                    what: format!("job kind {code}"),
                })?
            },
            lane: row.get(3)?,
            organization: row.get(4)?,
            project: row.get(5)?,
            report: row.get(6)?,
            spec: row.get(7)?,
            queue: row.get(8)?,
            source_address: row.get(9)?,
            limit_key: row.get(10)?,
            priority: Priority(row.get(11)?),
            work: row.get(12)?,
            timeouts: Timeouts {
                run: span(13)?,
                grace: span(14)?,
                lease: span(15)?,
                set_up: span(16)?,
                pending: row.get::<Option<u64>>(17)?.map(Duration::from_millis),
            },
            retry: retry(row.get(18)?, row.get(19)?)?,
            retry_of: row.get(20)?,
            root: row.get(21)?,
            created: row.get(22)?,
            shared: row.get(45)?,
        },
        life: Life {
            status: status(row.get(23)?)?,
            epoch: row.get(24)?,
            admitted: row.get(25)?,
            retry_count: row.get(26)?,
            published: row.get(27)?,
            runner: row.get(28)?,
            slot: row.get(44)?,
            lease_id: row.get(29)?,
            cause: row
                .get::<Option<i64>>(30)?
                .map(|code| {
                    Trigger::from_code(code).ok_or_else(|| Error::Corrupt {
                        what: format!("job cause {code}"),
                    })
                })
                .transpose()?,
            message: row.get(31)?,
            events: row.get(32)?,
            timer: row
                .get::<Option<Millis>>(33)?
                .zip(row.get::<Option<i64>>(34)?),
            pending_tick: row.get(35)?,
            claimed_tick: row.get(36)?,
            started_tick: row.get(37)?,
            lease_tick: row.get(38)?,
            claimed: row.get(39)?,
            started: row.get(40)?,
            ended: row.get(41)?,
            modified: row.get(42)?,
            billed: row.get(43)?,
        },
    })
}

const fn retry_columns(retry: Retry) -> (i64, u32) {
    match retry {
        Retry::Never => (0, 0),
        Retry::SameJob { max } => (1, max),
        Retry::NewJob { max } => (2, max),
    }
}

fn retry(code: i64, max: u32) -> Result<Retry, Error> {
    match code {
        0 => Ok(Retry::Never),
        1 => Ok(Retry::SameJob { max }),
        2 => Ok(Retry::NewJob { max }),
        _ => Err(Error::Corrupt {
            what: format!("retry policy {code}"),
        }),
    }
}

fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}
