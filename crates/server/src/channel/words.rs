//! What a runner says about a job, carried out.

use std::time::Duration;

use kiln_control::bench::Tier;
use kiln_control::jobs::{self, Canceled, Delivered, Directive, Holder, Output};
use kiln_control::outputs::Large;
use kiln_control::{Credential, Denied};
use kiln_model::v0::JobOutput;
use kiln_model::{JobUuid, Millis, Slot, Status, Trigger};
use kiln_store::sql::channel::{self, Channel};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::runner::Runner;
use kiln_store::{Bell, Query, Tx};

use super::contact::Contact;
use crate::app::App;
use crate::metrics::{Count, Span};
use crate::view;

/// The one job a runner holds in a slot, newest claim first: `running` and `heartbeat` carry no job id and mean this one.
pub(super) async fn held(app: &App, runner: &Runner, slot: Slot) -> Result<Option<Job>, Denied> {
    let id = runner.id;
    let read = move |query: &mut dyn Query| {
        let mut held = job::held_by(query, id)?.into_iter();
        Ok(held.rfind(|job| slot.covers(job.life.slot)))
    };
    app.store.reader.read(read).await
}

/// The job as it is now.
async fn look(app: &App, id: i64) -> Result<Option<Job>, Denied> {
    app.store
        .reader
        .read(move |query| Ok(job::find(query, id)?))
        .await
}

/// What became of a job that a channel executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    GoesOn,
    /// It ended, or is somebody else's: the runner is to stop it.
    Stopped,
    /// The runner was not heard in time. It may still deliver what it has.
    Lost,
}

/// Something about the job changed: whether it is still this runner's to execute.
pub(super) async fn fate(app: &App, job: &Job) -> Result<Fate, Denied> {
    let Some(now) = look(app, job.id).await? else {
        return Ok(Fate::Stopped);
    };
    let lost = now.life.cause.is_some_and(Trigger::is_lost_contact);
    Ok(match now.life.status {
        _ if now.life.epoch != job.life.epoch => Fate::Stopped,
        // The runner's own last word is acknowledged where it is heard.
        Status::Claimed | Status::Running | Status::Completed | Status::Processed => Fate::GoesOn,
        Status::Failed if now.life.cause == Some(Trigger::Fail) => Fate::GoesOn,
        Status::Failed if lost => Fate::Lost,
        Status::Pending | Status::Failed | Status::Canceled | Status::Abandoned => Fate::Stopped,
    })
}

pub(super) async fn running(app: &App, runner: &Runner, job: &Job) -> Result<Directive, Denied> {
    let (id, holder, actor) = (job.id, holder(runner, job), view::actor(runner.uuid));
    let credential = credential(runner);
    let directive = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            credential.check(tx)?;
            jobs::start(tx, id, holder, &actor)
        })
        .await?;
    // A job that was read after it began has told this before.
    if directive == Directive::Continue && job.life.started.is_none() {
        app.metrics.count(Count::JobUpdate(Status::Running));
        observe(app, Span::Queue, job, Some(job.ask.created));
    }
    Ok(directive)
}

fn observe(app: &App, span: Span, job: &Job, since: Option<Millis>) {
    let Some(since) = since else { return };
    let millis = u64::try_from(app.wall().0 - since.0).unwrap_or_default();
    let tier = Tier::of_priority(job.ask.priority);
    app.metrics
        .observe(span, Some(tier), Duration::from_millis(millis));
}

/// Alive: kept in memory, written with everybody else's within a second.
pub(super) fn heartbeat(app: &App, job: &Job) {
    app.heartbeats
        .beat(job.id, job.life.epoch, app.store.ledger.now());
}

/// A result or a failure, of a job that may be over, forgotten or somebody else's. Whatever becomes of it, the runner need
/// not send it again: only trouble of our own is an error.
pub(super) async fn delivered(
    app: &App,
    runner: &Runner,
    uuid: JobUuid,
    mut output: JobOutput,
) -> Result<Option<Delivered>, Denied> {
    let error = output.error.clone();
    let failed = error.is_some();
    output.forget_strays();
    let large = output.large.as_deref().map(Large::from);
    let body = serde_json::to_vec(&output).expect("an output is plain data");
    let output = Output::new(body).with_large(large);
    let (runner_id, actor) = (runner.id, view::actor(runner.uuid));
    let credential = credential(runner);
    let outcome = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            credential.check(tx)?;
            let Some(found) = job::find_public(tx, &uuid.to_string())? else {
                return Ok(None);
            };
            let holder = Holder {
                runner: runner_id,
                epoch: None,
            };
            let delivered = match &error {
                None => jobs::complete(tx, found.id, holder, &output, &actor)?,
                Some(error) => jobs::fail(tx, found.id, holder, Some(&output), error, &actor)?,
            };
            Ok(Some((delivered, found)))
        })
        .await;
    let Some((delivered, found)) = not_theirs_is_nothing(outcome)? else {
        return Ok(None);
    };
    if delivered == Delivered::Accepted {
        let status = if failed {
            Status::Failed
        } else {
            Status::Completed
        };
        app.metrics.count(Count::JobUpdate(status));
        observe(app, Span::Run, &found, found.life.started);
        observe(app, Span::Complete, &found, Some(found.ask.created));
    }
    Ok(Some(delivered))
}

pub(super) async fn canceled(
    app: &App,
    runner: &Runner,
    uuid: JobUuid,
    output: Option<JobOutput>,
) -> Result<Option<Canceled>, Denied> {
    let output = output.map(|output| serde_json::to_vec(&output).expect("an output is plain data"));
    let output = output.map(Output::new);
    let (runner_id, actor) = (runner.id, view::actor(runner.uuid));
    let credential = credential(runner);
    let outcome = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            credential.check(tx)?;
            let Some(found) = job::find_public(tx, &uuid.to_string())? else {
                return Ok(None);
            };
            let holder = Holder {
                runner: runner_id,
                epoch: None,
            };
            jobs::runner_canceled(tx, found.id, holder, output.as_ref(), &actor).map(Some)
        })
        .await;
    let canceled = not_theirs_is_nothing(outcome)?;
    if canceled == Some(Canceled::Now) {
        app.metrics.count(Count::JobUpdate(Status::Canceled));
    }
    Ok(canceled)
}

/// A runner has come: its channel is the newest from now on, here and on the other servers.
pub(super) async fn enter(app: &App, runner: &Runner, slot: Slot) -> Result<Channel, Denied> {
    let (id, contact) = (runner.id, Contact::new(app, runner, None));
    let opened = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            contact.note(tx)?;
            Ok::<_, Denied>(channel::open(tx, id, slot)?)
        })
        .await?;
    // Here the older one has been told already.
    app.store.bells.ring_elsewhere(Bell::Runner(id));
    Ok(opened)
}

/// Whether a channel still speaks for its slot, if the runner's key is still good.
pub(super) async fn is_newest(
    app: &App,
    runner: &Runner,
    channel: Channel,
) -> Result<bool, Denied> {
    let credential = credential(runner);
    app.store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            credential.check(tx)?;
            Ok(!channel::is_superseded(tx, channel)?)
        })
        .await
}

pub(super) const fn credential(runner: &Runner) -> Credential {
    Credential {
        runner: runner.id,
        version: runner.key_version,
    }
}

const fn holder(runner: &Runner, job: &Job) -> Holder {
    Holder {
        runner: runner.id,
        epoch: Some(job.life.epoch),
    }
}

fn not_theirs_is_nothing<T>(outcome: Result<Option<T>, Denied>) -> Result<Option<T>, Denied> {
    match outcome {
        Err(Denied::NotHolder | Denied::NotFound(_)) => Ok(None),
        other => other,
    }
}
