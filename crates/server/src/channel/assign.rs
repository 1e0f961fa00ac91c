//! A claim, and everything the runner needs to carry it out.

use kiln_control::{Denied, jobs};
use kiln_model::v0::{ClaimedJob, DateTime, JobConfig};
use kiln_model::{ProjectUuid, RunnerUuid};
use kiln_store::Tx;
use kiln_store::sql::job::Job;
use kiln_store::sql::runner::Runner;
use kiln_store::sql::spec;

use super::words;
use crate::app::App;
use crate::metrics::Count;
use crate::token::{Action, Audience, OciScope};
use crate::view;

/// How long a pull token lives, as on stock servers.
const PULL_TOKEN_SECONDS: i64 = 600;

/// A job this runner holds, without its token: that is signed outside the transaction and stored nowhere.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) job: Job,
    pub(super) claimed: ClaimedJob,
    /// Just claimed, and not given again.
    is_new: bool,
}

/// A claim may be beaten by another server; it is tried this often before the next bell.
const CLAIM_TRIES: u32 = 4;

/// The runner is idle: what it holds and never began is given to it again, or the next job is its.
pub(super) async fn next(app: &App, runner: &Runner) -> Result<Option<Assignment>, Denied> {
    for _ in 0..CLAIM_TRIES {
        let asking = runner.clone();
        let outcome = app
            .store
            .ledger
            .submit(move |tx: &mut dyn Tx| claim(tx, &asking))
            .await;
        match outcome {
            Err(Denied::Raced) => {}
            Ok(None) => return Ok(None),
            Ok(Some(assignment)) => {
                if assignment.is_new {
                    app.metrics.count(Count::JobClaim);
                }
                return Ok(Some(assignment.with_token(app, runner.uuid)));
            }
            Err(denied) => return Err(denied),
        }
    }
    Ok(None)
}

fn claim(tx: &mut dyn Tx, runner: &Runner) -> Result<Option<Assignment>, Denied> {
    words::credential(runner).check(tx)?;
    let actor = view::actor(runner.uuid);
    let claim = jobs::Claim {
        runner: runner.id,
        actor: &actor,
        lease_id: None,
    };
    let Some(assigned) = jobs::ready(tx, &claim)? else {
        return Ok(None);
    };
    let is_new = matches!(assigned, jobs::Assigned::New(_));
    let job = assigned.into_job();
    let spec = job.ask.spec.ok_or(Denied::NotFound("spec"))?;
    let spec = spec::find(tx, spec)?.ok_or(Denied::NotFound("spec"))?;
    let config: JobConfig = serde_json::from_str(&job.ask.work)
        .map_err(|error| Denied::Invalid(format!("the stored work cannot be read: {error}")))?;
    let claimed = ClaimedJob {
        uuid: view::job_uuid(&job)?,
        spec: view::spec(&spec),
        timeout: config.timeout,
        config,
        oci_token: String::new(),
        created: DateTime(job.ask.created),
    };
    Ok(Some(Assignment {
        job,
        claimed,
        is_new,
    }))
}

impl Assignment {
    /// Adds the pull token: one project, pull only, short-lived. The image comes from the server the runner talks to: that
    /// one it can reach, wherever the job was submitted.
    fn with_token(mut self, app: &App, runner: RunnerUuid) -> Self {
        self.claimed.config.registry.clone_from(&app.public_url);
        self.claimed.oci_token = pull_token(app, runner, self.claimed.config.project);
        self
    }
}

/// Opens one project's images, for pulling, to one runner, for a short time.
pub(super) fn pull_token(app: &App, runner: RunnerUuid, project: ProjectUuid) -> String {
    let scope = OciScope {
        repository: Some(project.to_string()),
        actions: vec![Action::Pull],
    };
    app.tokens.sign(
        Audience::Runner,
        runner.to_string(),
        Some(scope),
        app.wall(),
        PULL_TOKEN_SECONDS,
    )
}
