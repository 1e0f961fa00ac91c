//! Rows as the bench door shows them.

use kiln_control::Denied;
use kiln_model::v0::{self, DateTime};
use kiln_model::{JobUuid, Millis, RunnerUuid};
use kiln_store::sql::account::Account;
use kiln_store::sql::account_key::AccountKey;
use kiln_store::sql::audit;
use kiln_store::sql::job::Job;
use kiln_store::sql::member::Member;
use kiln_store::sql::organization::Organization;
use kiln_store::sql::project::Project;
use kiln_store::sql::project_key::ProjectKey;
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
        shared: spec.shared,
        isolation: spec.isolation.map(|level| level.name().to_owned()),
    }
}

pub(crate) fn runner(runner: &Runner, specs: &[Spec], state: v0::RunnerState) -> v0::Runner {
    v0::Runner {
        uuid: runner.uuid,
        name: runner.name.clone(),
        slug: runner.slug.clone(),
        specs: specs.iter().map(|spec| spec.uuid).collect(),
        archived: runner.archived.map(DateTime),
        last_heartbeat: runner.last_heartbeat.map(DateTime),
        created: DateTime(runner.created),
        modified: DateTime(runner.modified),
        state: Some(state),
        draining: runner.draining.map(DateTime),
        // One that this version cannot read is of a newer runner.
        metadata: runner
            .metadata
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok()),
    }
}

pub(crate) fn user(account: &Account) -> v0::User {
    v0::User {
        uuid: account.uuid,
        name: account.name.clone(),
        slug: account.slug.clone(),
        email: account.email.clone(),
        admin: account.admin,
        locked: account.locked,
        created: DateTime(account.created),
    }
}

pub(crate) fn user_summary(account: &Account) -> v0::UserSummary {
    v0::UserSummary {
        uuid: account.uuid,
        name: account.name.clone(),
        slug: account.slug.clone(),
    }
}

pub(crate) fn user_key(owner: &Account, key: &AccountKey) -> v0::UserKey {
    v0::UserKey {
        uuid: key.uuid,
        user: owner.uuid,
        name: key.name.clone(),
        creation: DateTime(key.created),
        expiration: DateTime(key.expires.unwrap_or(NEVER)),
        revoked: key.revoked.map(DateTime),
    }
}

/// The expiration of a key that has none: the last second of the year 9999.
const NEVER: Millis = Millis(253_402_300_799_000);

pub(crate) fn organization(organization: &Organization) -> v0::Organization {
    v0::Organization {
        uuid: organization.uuid,
        name: organization.name.clone(),
        slug: organization.slug.clone(),
        license: None,
        created: DateTime(organization.created),
        modified: DateTime(organization.modified),
        claimed: organization.claimed.map(DateTime),
    }
}

pub(crate) fn member(member: &Member) -> v0::Member {
    v0::Member {
        uuid: member.account.uuid,
        name: member.account.name.clone(),
        slug: member.account.slug.clone(),
        email: member.account.email.clone(),
        role: member.role,
    }
}

pub(crate) fn project(project: &Project) -> v0::Project {
    v0::Project {
        uuid: project.uuid,
        organization: project.organization,
        name: project.name.clone(),
        slug: project.slug.clone(),
        url: project.url.clone(),
        visibility: project.visibility,
        created: DateTime(project.created),
        modified: DateTime(project.modified),
        claimed: project.claimed.map(DateTime),
    }
}

pub(crate) fn project_key(project: &Project, key: &ProjectKey) -> v0::ProjectKey {
    v0::ProjectKey {
        uuid: key.uuid,
        project: project.uuid,
        creator: key.creator,
        name: key.name.clone(),
        creation: DateTime(key.created),
        expiration: DateTime(key.expires),
        revoked: key.revoked.map(DateTime),
    }
}

pub(crate) fn audit_entry(entry: &audit::AuditEntry) -> v0::AuditEntry {
    v0::AuditEntry {
        number: entry.id,
        at: DateTime(entry.at),
        actor: entry.actor.clone(),
        action: entry.action.clone(),
        subject: entry.subject.clone(),
        detail: entry.detail.clone(),
    }
}
