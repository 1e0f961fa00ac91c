//! A run becomes a report, and a job when a runner is to execute it, in one transaction.

use std::time::Duration;

use kiln_model::v0::{JobConfig, NewRun, NewRunJob};
use kiln_model::{
    BranchName, Digest, JobUuid, Kind, Millis, OrganizationUuid, ProjectUuid, ReportUuid,
    ResourceName, Retry, Slug, TestbedUuid, Timeouts,
};
use kiln_store::Tx;
use kiln_store::sql::branch::{Branch, NewBranch};
use kiln_store::sql::job::{Job, NewJob};
use kiln_store::sql::project::Project;
use kiln_store::sql::report::{self, Report};
use kiln_store::sql::spec::{self, Spec};
use kiln_store::sql::testbed::Testbed;
use kiln_store::sql::{branch, dimension, testbed};

use super::image::{ImageReference, ImageVersion};
use super::tier::Tier;
use super::work::Work;
use super::{
    BenchSettings, Ids, RunSettings, apply_thresholds, named, pairs, process, start_branch,
};
use crate::access::Caller;
use crate::projects::{self, OnTheFly};
use crate::{Denied, jobs, people};

/// A checked request, with the ids it will have: minted outside, so that the transaction can run again.
#[derive(Clone, Debug)]
pub struct Submission {
    pub run: NewRun,
    pub work: Work,
    pub settings: RunSettings,
    pub caller: Caller,
    pub source_address: Option<String>,
    pub report: ReportUuid,
    pub job: JobUuid,
    pub project: ProjectUuid,
    pub organization: OrganizationUuid,
    pub branch: NewBranch,
    pub testbed: TestbedUuid,
}

impl Submission {
    fn account(&self) -> Option<i64> {
        self.caller.account().map(|account| account.id)
    }
}

#[derive(Clone, Debug)]
pub enum Submitted {
    New {
        report: Report,
        /// Absent when the results came with the run.
        job: Option<Box<Job>>,
        scene: Box<Scene>,
    },
    /// The idempotency key was used before: this is what it made.
    Before { report: Report },
}

/// What a new report is about.
#[derive(Clone, Debug)]
pub struct Scene {
    pub project: Project,
    pub branch: Branch,
    pub testbed: Testbed,
    /// That of its job.
    pub spec: Option<Spec>,
}

/// How a tag becomes a digest inside a project; the registry's business.
pub type ResolveImage = fn(
    tx: &mut dyn Tx,
    project: &Project,
    image: &ImageReference<'_>,
    tag: &str,
) -> Result<Digest, Denied>;

/// Submits a run: a report, and a job if a runner is to produce its results.
pub fn submit_run(
    tx: &mut dyn Tx,
    submission: &Submission,
    settings: &BenchSettings,
    resolve: ResolveImage,
) -> Result<Submitted, Denied> {
    settings.admits(&submission.caller)?;
    let run = &submission.run;
    let (image, head) = match &submission.work {
        Work::Job(job) => {
            let image = reference(&job.image, settings)?;
            let head = job.paired.as_ref().map(|paired| &paired.image);
            let head = head.map(|image| reference(image, settings)).transpose()?;
            (Some(image), head)
        }
        Work::Results { .. } => (None, None),
    };
    let project = find_or_create_project(tx, submission, image.as_ref())?;
    people::claim_with_run(tx, &submission.caller, &project)?;
    if let Some(key) = &run.idempotency_key {
        tx.serialize_on(&format!("run:{}:{key}", project.id))?;
        if let Some(report) = report::find_idempotent(tx, project.id, key)? {
            return Ok(Submitted::Before { report });
        }
    }
    match &submission.work {
        Work::Job(ask) => {
            let spec = choose_spec(tx, &project, run, ask)?;
            let image = image.ok_or(Denied::NotFound("image"))?;
            let mut resolve = |image: &ImageReference<'_>| match &image.version {
                ImageVersion::Digest(digest) => Ok(digest.clone()),
                ImageVersion::Tag(tag) => resolve(tx, &project, image, tag),
            };
            let digest = resolve(&image)?;
            let head = head.as_ref().map(resolve).transpose()?;
            let wall = tx.wall();
            let (report, scene) =
                insert_report(tx, submission, project, Some(spec.clone()), (wall, wall))?;
            let job = submit_job(
                tx,
                submission,
                settings,
                &Order {
                    project: &scene.project,
                    spec: &spec,
                    report: report.id,
                    ask,
                    digest,
                    head,
                },
            )?;
            Ok(Submitted::New {
                report,
                job: Some(Box::new(job)),
                scene: Box::new(scene),
            })
        }
        Work::Results {
            start,
            end,
            metrics,
        } => {
            let (mut report, scene) = insert_report(tx, submission, project, None, (*start, *end))?;
            process::publish(tx, &report, metrics)?;
            "ready".clone_into(&mut report.status);
            Ok(Submitted::New {
                report,
                job: None,
                scene: Box::new(scene),
            })
        }
    }
}

fn reference<'a>(text: &'a str, settings: &BenchSettings) -> Result<ImageReference<'a>, Denied> {
    let image = ImageReference::parse(text)?;
    image.check_host(&settings.registry_url)?;
    Ok(image)
}

/// The spec of the job, of the testbed that was named unless it is to forget it, or of the server; in this order.
fn choose_spec(
    tx: &mut dyn Tx,
    project: &Project,
    run: &NewRun,
    ask: &NewRunJob,
) -> Result<Spec, Denied> {
    if let Some(reference) = &ask.spec {
        return spec::find_by_ref(tx, reference)?
            .filter(|spec| spec.archived.is_none())
            .ok_or(Denied::NotFound("spec"));
    }
    if run.spec_reset != Some(true)
        && let Some(name) = &run.testbed
        && let Some(testbed) = dimension::find_by_name::<Testbed, _>(tx, project.id, name.as_str())?
        && let Some(id) = testbed.spec
        && let Some(spec) = spec::find(tx, id)?.filter(|spec| spec.archived.is_none())
    {
        return Ok(spec);
    }
    spec::fallback(tx)?.ok_or_else(|| {
        Denied::Invalid(
            "no spec was given and the server has no fallback spec: name one in `job.spec`"
                .to_owned(),
        )
    })
}

/// The report with its branch and testbed, which are created when they are new.
fn insert_report(
    tx: &mut dyn Tx,
    submission: &Submission,
    project: Project,
    spec: Option<Spec>,
    (start, end): (Millis, Millis),
) -> Result<(Report, Scene), Denied> {
    let run = &submission.run;
    let branch_name = choose_branch(tx, &project, run)?;
    let hash = run
        .hash
        .clone()
        .or_else(|| context(run, "branch/hash")?.parse().ok());
    let ids = Ids::new(submission.job);
    if let Some(start) = &run.start_point {
        start_branch(tx, project.id, &branch_name, start, &ids)?;
    }
    let branch = branch::ensure(
        tx,
        project.id,
        &branch_name,
        hash.as_ref(),
        submission.branch,
    )?;
    let testbed_name = choose_testbed(tx, &project, run, spec.as_ref())?;
    let testbed = testbed::ensure(
        tx,
        project.id,
        &testbed_name,
        spec.as_ref().map(|spec| spec.id),
        submission.testbed,
    )?;
    if spec.is_none() && run.spec_reset == Some(true) {
        testbed::set_spec(tx, testbed.id, None)?;
    }
    if let Some(thresholds) = &run.thresholds {
        apply_thresholds(tx, project.id, (branch.id, testbed.id), thresholds, &ids)?;
    }
    let mut report = Report {
        id: 0,
        uuid: submission.report,
        project: project.id,
        account: submission.account(),
        branch: branch.id,
        version: branch.version,
        git_hash: hash,
        testbed: testbed.id,
        adapter: submission.settings.adapter.to_string(),
        settings: serde_json::to_string(&run.settings).expect("settings are plain data"),
        status: "pending".to_owned(),
        error: None,
        start_time: start,
        end_time: end,
        created: tx.wall(),
    };
    report.id = report::insert(tx, &report, run.idempotency_key.as_deref())?;
    let scene = Scene {
        project,
        branch,
        testbed,
        spec,
    };
    Ok((report, scene))
}

/// A branch by UUID, slug or name; a name nobody has is created.
fn choose_branch(tx: &mut dyn Tx, project: &Project, run: &NewRun) -> Result<BranchName, Denied> {
    let Some(asked) = &run.branch else {
        let from_context = context(run, "branch/ref/name").and_then(|name| name.parse().ok());
        return Ok(from_context.unwrap_or_else(|| "main".parse().expect("a valid branch")));
    };
    named::branch(tx, project.id, asked.as_str())
}

/// The same for testbeds. One that is not named is named after the spec, or after where the run comes from.
fn choose_testbed(
    tx: &mut dyn Tx,
    project: &Project,
    run: &NewRun,
    spec: Option<&Spec>,
) -> Result<ResourceName, Denied> {
    let Some(asked) = &run.testbed else {
        if let Some(spec) = spec {
            return Ok(spec.name.clone());
        }
        let from_context = context(run, "testbed/os").and_then(|name| name.parse().ok());
        return Ok(from_context.unwrap_or_else(|| "localhost".parse().expect("a valid name")));
    };
    named::testbed(tx, project.id, asked.as_str())
}

/// What a job is made of.
struct Order<'a> {
    project: &'a Project,
    spec: &'a Spec,
    report: i64,
    ask: &'a NewRunJob,
    digest: Digest,
    /// The image that takes turns with it.
    head: Option<Digest>,
}

fn submit_job(
    tx: &mut dyn Tx,
    submission: &Submission,
    settings: &BenchSettings,
    order: &Order<'_>,
) -> Result<Job, Denied> {
    let tier = if settings.plans {
        Tier::of(tx, order.project.organization_id)?
    } else {
        Tier::Enterprise
    };
    let asked = order.ask.timeout.map(u64::from).map(Duration::from_secs);
    let timeout = tier.timeout(asked, settings.default_timeout);
    let config = config(order, submission, settings, timeout);
    let organization = order.project.organization_id;
    let ask = NewJob {
        public_id: Some(submission.job.to_string()),
        kind: Kind::Bench,
        lane: order.spec.lane,
        organization: Some(organization),
        project: Some(order.project.id),
        report: Some(order.report),
        spec: Some(order.spec.id),
        queue: None,
        source_address: submission.source_address.clone(),
        limit_key: tier.limit_key(organization, submission.source_address.as_deref()),
        priority: tier.priority(),
        work: serde_json::to_string(&config).expect("a config is plain data"),
        timeouts: Timeouts {
            run: timeout,
            grace: settings.grace,
            lease: settings.heartbeat_timeout,
            set_up: settings.set_up,
            pending: settings.pending_expiry,
        },
        retry: Retry::Never,
        retry_of: None,
        root: None,
        created: tx.wall(),
        shared: order.spec.shared,
    };
    jobs::submit(tx, ask, &submission.caller.actor())
}

/// What the client found out about where the run comes from.
fn context<'a>(run: &'a NewRun, key: &str) -> Option<&'a str> {
    let context = run.context.as_ref()?;
    context
        .get(&format!("bencher.dev/v0/{key}"))
        .map(String::as_str)
}

/// The project that the run, its image or its context names; a slug nobody has is created.
fn find_or_create_project(
    tx: &mut dyn Tx,
    submission: &Submission,
    image: Option<&ImageReference<'_>>,
) -> Result<Project, Denied> {
    let run = &submission.run;
    let from_context = project_of_context(run);
    let named = run
        .project
        .as_deref()
        .or_else(|| image.and_then(ImageReference::project))
        .or_else(|| from_context.as_ref().map(Slug::as_str));
    let Some(reference) = named else {
        return Err(Denied::Invalid(
            "the run names no project, and neither does its image: set `project`".to_owned(),
        ));
    };
    let ids = OnTheFly {
        project: submission.project,
        organization: submission.organization,
    };
    projects::find_or_create(tx, &submission.caller, reference, ids)
}

/// Repositories of the same name are told apart by the hash of their first commit.
fn project_of_context(run: &NewRun) -> Option<Slug> {
    let name = context(run, "repo/name")?;
    let hash = context(run, "repo/hash").map_or("", |hash| hash.get(..7).unwrap_or(hash));
    Slug::suggest(&format!("{name} {hash}"))
}

fn config(
    order: &Order<'_>,
    submission: &Submission,
    settings: &BenchSettings,
    timeout: Duration,
) -> JobConfig {
    let (ask, chosen) = (order.ask, submission.run.settings.as_ref());
    let paired = ask.paired.as_ref().zip(order.head.clone());
    JobConfig {
        registry: settings.registry_url.clone(),
        project: order.project.uuid,
        digest: order.digest.clone(),
        image: Some(ask.image.clone()),
        entrypoint: ask.entrypoint.clone(),
        cmd: ask.cmd.clone(),
        env: ask.env.clone(),
        timeout: u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX),
        file_paths: ask.file_paths.clone(),
        build_time: ask.build_time,
        file_size: ask.file_size,
        average: chosen.and_then(|settings| settings.average.clone()),
        iter: ask.iter,
        fold: chosen.and_then(|settings| settings.fold.clone()),
        allow_failure: ask.allow_failure,
        backdate: ask.backdate,
        paired: paired.map(|(ask, head)| pairs::config(ask, head, submission.settings.adapter)),
    }
}
