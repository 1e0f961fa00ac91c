//! What a runner says about a job, carried out.

use kiln_control::Denied;
use kiln_control::jobs::{self, Canceled, Delivered, Directive, Holder, Output};
use kiln_model::v0::JobOutput;
use kiln_model::{JobUuid, Status};
use kiln_store::sql::job::{self, Job};
use kiln_store::sql::runner::Runner;
use kiln_store::{Query, Tx};

use crate::app::App;
use crate::view;

/// The one job a runner holds, newest claim first: `running` and `heartbeat` carry no job id and mean this one.
pub(super) async fn held(app: &App, runner: &Runner) -> Result<Option<Job>, Denied> {
    let id = runner.id;
    let read = move |query: &mut dyn Query| Ok(job::held_by(query, id)?.pop());
    app.store.reader.read(read).await
}

/// The job as it is now.
pub(super) async fn look(app: &App, id: i64) -> Result<Option<Job>, Denied> {
    app.store
        .reader
        .read(move |query| Ok(job::find(query, id)?))
        .await
}

pub(super) async fn running(app: &App, runner: &Runner, job: &Job) -> Result<Directive, Denied> {
    let (id, holder, actor) = (job.id, holder(runner, job), view::actor(runner.uuid));
    app.store
        .ledger
        .submit(move |tx: &mut dyn Tx| jobs::start(tx, id, holder, &actor))
        .await
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
    output: JobOutput,
) -> Result<Option<Delivered>, Denied> {
    let error = output.error.clone();
    let body = serde_json::to_vec(&output).expect("an output is plain data");
    let output = Output::new(body);
    let (runner_id, actor) = (runner.id, view::actor(runner.uuid));
    let outcome = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
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
            Ok(Some(delivered))
        })
        .await;
    not_theirs_is_nothing(outcome)
}

pub(super) async fn canceled(
    app: &App,
    runner: &Runner,
    uuid: JobUuid,
) -> Result<Option<Canceled>, Denied> {
    let (runner_id, actor) = (runner.id, view::actor(runner.uuid));
    let outcome = app
        .store
        .ledger
        .submit(move |tx: &mut dyn Tx| {
            let Some(found) = job::find_public(tx, &uuid.to_string())? else {
                return Ok(None);
            };
            let holder = Holder {
                runner: runner_id,
                epoch: None,
            };
            jobs::runner_canceled(tx, found.id, holder, &actor).map(Some)
        })
        .await;
    not_theirs_is_nothing(outcome)
}

/// Whether a job that was running has been stopped from elsewhere.
pub(super) const fn is_stopped(status: Status) -> bool {
    matches!(status, Status::Canceled | Status::Abandoned)
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
