//! Minutes are written down.

use std::time::Duration;

use kiln_model::Millis;
use kiln_store::Tx;
use kiln_store::sql::billing_minute::{self, NewMinute};
use kiln_store::sql::heartbeat::Pulse;
use kiln_store::sql::job::{self, Job};

use super::outbox;
use crate::Denied;
use crate::bench::Tier;

/// What is billed.
const MINUTE: Duration = Duration::from_mins(1);

/// A job starts or ends now: what it has begun until `until` is owed. The caller saves the job.
pub(crate) fn charge(tx: &mut dyn Tx, job: &mut Job, until: Millis) -> Result<(), Denied> {
    let minutes = begun(job, until);
    if minutes > job.life.billed {
        write(tx, job, minutes)?;
        job.life.billed = minutes;
    }
    Ok(())
}

/// The holder of a job that runs was alive at `tick`. The job is read when there is something to charge: once in a minute.
pub(crate) fn charge_alive(
    tx: &mut dyn Tx,
    id: i64,
    pulse: &Pulse,
    tick: Millis,
) -> Result<(), Denied> {
    let owes = |started: Millis| whole_minutes(started, tick) > pulse.billed;
    if !pulse.started_tick.is_some_and(owes) {
        return Ok(());
    }
    let Some(job) = job::find(tx, id)? else {
        return Ok(());
    };
    let minutes = begun(&job, tick);
    if minutes > job.life.billed && job::set_billed(tx, job.id, job.life.epoch, minutes)? {
        write(tx, &job, minutes)?;
    }
    Ok(())
}

/// How many minutes a job has begun. One that never started owes nothing, nor does one of nobody.
fn begun(job: &Job, until: Millis) -> i64 {
    let (Some(started), Some(_), Some(_)) = (start(job), job.ask.organization, &job.ask.public_id)
    else {
        return 0;
    };
    whole_minutes(started, until)
}

/// Every begun one whole, and one at least.
fn whole_minutes(started: Millis, until: Millis) -> i64 {
    let begun = until
        .since(started)
        .as_millis()
        .div_ceil(MINUTE.as_millis());
    i64::try_from(begun.max(1)).unwrap_or(i64::MAX)
}

#[cfg(not(feature = "sabotage"))]
const fn start(job: &Job) -> Option<Millis> {
    job.life.started_tick
}

#[cfg(feature = "sabotage")]
fn start(job: &Job) -> Option<Millis> {
    let claimed = job.life.claimed_tick;
    let bills_set_up = crate::sabotage::is_on(crate::sabotage::Guard::BillFromStart);
    job.life
        .started_tick
        .or_else(|| claimed.filter(|_| bills_set_up))
}

fn write(tx: &mut dyn Tx, job: &Job, minutes: i64) -> Result<(), Denied> {
    let (Some(organization), Some(public_id)) = (job.ask.organization, &job.ask.public_id) else {
        return Ok(());
    };
    let metered = Tier::of_priority(job.ask.priority).is_metered();
    let first = job.life.started.unwrap_or_else(|| tx.wall());
    for minute in job.life.billed + 1..=minutes {
        let before = u32::try_from(minute - 1).unwrap_or(u32::MAX);
        let new = NewMinute {
            job_id: job.id,
            job: public_id,
            minute,
            organization,
            begun: first + MINUTE * before,
            metered,
        };
        billing_minute::insert(tx, &new)?;
    }
    if metered {
        outbox::wake(tx)?;
    }
    Ok(())
}
