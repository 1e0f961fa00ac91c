//! A claim, and everything the runner needs to carry it out.

use kiln_control::{Denied, jobs};
use kiln_model::RunnerUuid;
use kiln_model::v0::{ClaimedJob, DateTime, JobConfig};
use kiln_store::Tx;
use kiln_store::sql::job::Job;
use kiln_store::sql::runner::Runner;
use kiln_store::sql::spec;

use crate::app::App;
use crate::token::{Action, Audience, OciScope};
use crate::view;

/// How long a pull token lives, as on stock servers.
const PULL_TOKEN_SECONDS: i64 = 600;

/// A job this runner holds, without its token: that is signed outside the transaction and stored nowhere.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) job: Job,
    pub(super) claimed: ClaimedJob,
}

/// The runner is idle: what it held is forgotten, and the next job is its.
pub(super) fn claim(tx: &mut dyn Tx, runner: &Runner) -> Result<Option<Assignment>, Denied> {
    let actor = view::actor(runner.uuid);
    jobs::forget(tx, runner.id, &actor)?;
    let claim = jobs::Claim {
        runner: runner.id,
        actor: &actor,
        lease_id: None,
    };
    let Some(job) = jobs::claim(tx, &claim)? else {
        return Ok(None);
    };
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
    Ok(Some(Assignment { job, claimed }))
}

impl Assignment {
    /// Adds the pull token: one project, pull only, short-lived. The image comes from the server the runner talks to: that
    /// one it can reach, wherever the job was submitted.
    pub(super) fn with_token(mut self, app: &App, runner: RunnerUuid) -> Self {
        self.claimed.config.registry.clone_from(&app.public_url);
        let scope = OciScope {
            repository: Some(self.claimed.config.project.to_string()),
            actions: vec![Action::Pull],
        };
        self.claimed.oci_token = app.tokens.sign(
            Audience::OciRunner,
            runner.to_string(),
            Some(scope),
            app.wall(),
            PULL_TOKEN_SECONDS,
        );
        self
    }
}
