//! Rows as the bench door shows them.

use kiln_control::Denied;
use kiln_model::v0::{self, DateTime};
use kiln_model::{JobUuid, RunnerUuid};
use kiln_store::sql::job::Job;
use kiln_store::sql::runner::Runner;
use kiln_store::sql::spec::Spec;

/// How a runner is named in events.
pub(crate) fn actor(runner: RunnerUuid) -> String {
    format!("runner:{runner}")
}

pub(crate) fn job_uuid(job: &Job) -> Result<JobUuid, Denied> {
    job.ask
        .public_id
        .as_deref()
        .and_then(|id| id.parse().ok())
        .ok_or(Denied::NotFound("job"))
}

pub(crate) fn spec(spec: &Spec) -> v0::Spec {
    v0::Spec {
        uuid: spec.uuid,
        name: spec.name.clone(),
        slug: spec.slug.clone(),
        os: spec.os,
        architecture: spec.architecture,
        sandbox: spec.sandbox.clone(),
        cpu: spec.cpu,
        memory: spec.memory,
        disk: spec.disk,
        network: spec.network,
        fallback: spec.fallback.map(DateTime),
        created: DateTime(spec.created),
        modified: DateTime(spec.modified),
        archived: spec.archived.map(DateTime),
    }
}

pub(crate) fn runner(runner: &Runner, specs: &[Spec]) -> v0::Runner {
    v0::Runner {
        uuid: runner.uuid,
        name: runner.name.clone(),
        slug: runner.slug.clone(),
        specs: specs.iter().map(|spec| spec.uuid).collect(),
        archived: runner.archived.map(DateTime),
        last_heartbeat: runner.last_heartbeat.map(DateTime),
        created: DateTime(runner.created),
        modified: DateTime(runner.modified),
    }
}
