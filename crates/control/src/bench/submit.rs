//! A run becomes a report and a job, in one transaction.

use std::time::Duration;

use kiln_model::v0::{JobConfig, NewRun, NewRunJob};
use kiln_model::{
    Digest, JobUuid, Kind, OrganizationUuid, Priority, ProjectUuid, ReportUuid, Retry, Slug,
    TestbedUuid, Timeouts,
};
use kiln_store::Tx;
use kiln_store::sql::branch::NewBranch;
use kiln_store::sql::job::{Job, NewJob};
use kiln_store::sql::project::Project;
use kiln_store::sql::report::{self, Report};
use kiln_store::sql::{branch, project, spec, testbed};

use super::{BenchSettings, Ids, RunSettings, apply_thresholds, start_branch};
use crate::projects::{self, OnTheFly};
use crate::{Denied, jobs};

/// A checked request, with the ids it will have: minted outside, so that the transaction can run again.
#[derive(Clone, Debug)]
pub struct Submission {
    pub run: NewRun,
    pub settings: RunSettings,
    pub account: Option<i64>,
    pub actor: String,
    pub source_address: Option<String>,
    pub report: ReportUuid,
    pub job: JobUuid,
    pub project: ProjectUuid,
    pub organization: OrganizationUuid,
    pub branch: NewBranch,
    pub testbed: TestbedUuid,
}

#[derive(Clone, Debug)]
pub enum Submitted {
    New {
        report: Report,
        job: Box<Job>,
    },
    /// The idempotency key was used before: this is what it made.
    Before {
        report: Report,
    },
}

/// How an image reference becomes a digest inside a project; the registry's business.
pub type ResolveImage =
    fn(tx: &mut dyn Tx, project: &Project, reference: &str) -> Result<Digest, Denied>;

const MAX_ARGUMENTS: usize = 64;
const MAX_ENVIRONMENT: usize = 255;
const MAX_FILES: usize = 255;

/// Submits a run that a runner is to execute.
pub fn submit_run(
    tx: &mut dyn Tx,
    submission: &Submission,
    settings: &BenchSettings,
    resolve: ResolveImage,
) -> Result<Submitted, Denied> {
    let run = &submission.run;
    let ask = run.job.as_ref().ok_or_else(|| {
        Denied::Invalid("a run needs a `job` with an image, or `results`".to_owned())
    })?;
    check(run, ask)?;
    let project = find_or_create_project(tx, submission, ask)?;
    if let Some(key) = &run.idempotency_key
        && let Some(report) = report::find_idempotent(tx, project.id, key)?
    {
        return Ok(Submitted::Before { report });
    }
    let spec = match &ask.spec {
        Some(reference) => spec::find_by_ref(tx, reference)?
            .filter(|spec| spec.archived.is_none())
            .ok_or(Denied::NotFound("spec"))?,
        None => spec::fallback(tx)?.ok_or_else(|| {
            Denied::Invalid(
                "no spec was given and the server has no fallback spec: name one in `job.spec`"
                    .to_owned(),
            )
        })?,
    };
    let digest = resolve(tx, &project, &ask.image)?;
    let wall = tx.wall();
    let branch_name = run
        .branch
        .clone()
        .unwrap_or_else(|| "main".parse().expect("a valid branch"));
    let ids = Ids::new(submission.job);
    if let Some(start) = &run.start_point {
        start_branch(tx, project.id, &branch_name, start, &ids)?;
    }
    let branch = branch::ensure(
        tx,
        project.id,
        &branch_name,
        run.hash.as_ref(),
        submission.branch,
    )?;
    let testbed_name = run.testbed.as_ref().unwrap_or(&spec.name);
    let testbed = testbed::ensure(
        tx,
        project.id,
        testbed_name,
        Some(spec.id),
        submission.testbed,
    )?;
    if let Some(thresholds) = &run.thresholds {
        apply_thresholds(tx, project.id, (branch.id, testbed.id), thresholds, &ids)?;
    }
    let mut report = Report {
        id: 0,
        uuid: submission.report,
        project: project.id,
        account: submission.account,
        branch: branch.id,
        version: branch.version,
        git_hash: run.hash.clone(),
        testbed: testbed.id,
        adapter: submission.settings.adapter.to_string(),
        settings: serde_json::to_string(&run.settings).expect("settings are plain data"),
        status: "pending".to_owned(),
        error: None,
        start_time: wall,
        end_time: wall,
        created: wall,
    };
    report.id = report::insert(tx, &report, run.idempotency_key.as_deref())?;
    let timeout = ask.timeout.map_or(settings.default_timeout, |secs| {
        Duration::from_secs(u64::from(secs))
    });
    let config = config(&project, ask, run, settings, digest, timeout);
    let ask = NewJob {
        public_id: Some(submission.job.to_string()),
        kind: Kind::Bench,
        lane: spec.lane,
        organization: Some(project.organization_id),
        project: Some(project.id),
        report: Some(report.id),
        spec: Some(spec.id),
        queue: None,
        source_address: submission.source_address.clone(),
        limit_key: None,
        priority: Priority::ENTERPRISE,
        work: serde_json::to_string(&config).expect("a config is plain data"),
        timeouts: Timeouts {
            run: timeout,
            grace: settings.grace,
            lease: settings.heartbeat_timeout,
            set_up: settings.set_up,
            pending: None,
        },
        retry: Retry::Never,
        retry_of: None,
        root: None,
        created: wall,
    };
    let job = jobs::submit(tx, ask, &submission.actor)?;
    Ok(Submitted::New {
        report,
        job: Box::new(job),
    })
}

fn check(run: &NewRun, ask: &NewRunJob) -> Result<(), Denied> {
    let invalid = |text: &str| Err(Denied::Invalid(text.to_owned()));
    if !run.results.is_empty() {
        return invalid("a run has either `results` or a `job`, not both");
    }
    let too_many = |list: Option<usize>, limit| list.is_some_and(|len| len > limit);
    if too_many(ask.entrypoint.as_ref().map(Vec::len), MAX_ARGUMENTS)
        || too_many(ask.cmd.as_ref().map(Vec::len), MAX_ARGUMENTS)
    {
        return invalid("`entrypoint` and `cmd` have at most 64 parts");
    }
    if too_many(
        ask.env.as_ref().map(std::collections::BTreeMap::len),
        MAX_ENVIRONMENT,
    ) {
        return invalid("`env` has at most 255 entries");
    }
    if too_many(ask.file_paths.as_ref().map(Vec::len), MAX_FILES) {
        return invalid("`file_paths` has at most 255 entries");
    }
    if ask.timeout == Some(0) {
        return invalid("`timeout` is at least 1 second");
    }
    Ok(())
}

/// The project that the run or the image names; a slug nobody has is created.
fn find_or_create_project(
    tx: &mut dyn Tx,
    submission: &Submission,
    ask: &NewRunJob,
) -> Result<Project, Denied> {
    let named = submission
        .run
        .project
        .as_deref()
        .or_else(|| project_of_image(&ask.image));
    let Some(reference) = named else {
        return Err(Denied::Invalid(
            "the run names no project, and neither does its image: set `project`".to_owned(),
        ));
    };
    if let Some(found) = project::find_by_ref(tx, reference)? {
        return Ok(found);
    }
    let slug: Slug = reference.parse().map_err(|_| Denied::NotFound("project"))?;
    if reference.parse::<ProjectUuid>().is_ok() {
        return Err(Denied::NotFound("project"));
    }
    let ids = OnTheFly {
        project: submission.project,
        organization: submission.organization,
    };
    projects::create_on_the_fly(tx, &slug, ids, submission.account)
}

fn project_of_image(image: &str) -> Option<&str> {
    let name = image.split(['@', ':']).next()?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

fn config(
    project: &Project,
    ask: &NewRunJob,
    run: &NewRun,
    settings: &BenchSettings,
    digest: Digest,
    timeout: Duration,
) -> JobConfig {
    let chosen = run.settings.as_ref();
    JobConfig {
        registry: settings.registry_url.clone(),
        project: project.uuid,
        digest,
        image: Some(ask.image.clone()),
        entrypoint: ask.entrypoint.clone(),
        cmd: ask.cmd.clone(),
        env: ask.env.clone(),
        timeout: u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX),
        file_paths: ask.file_paths.clone(),
        build_time: None,
        file_size: None,
        average: chosen.and_then(|settings| settings.average.clone()),
        iter: ask.iter,
        fold: chosen.and_then(|settings| settings.fold.clone()),
        allow_failure: ask.allow_failure,
        backdate: None,
    }
}
