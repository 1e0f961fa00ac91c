//! A claim, and everything the runner needs to carry it out.

use kiln_control::{Denied, jobs};
use kiln_model::v0::{ClaimedJob, DateTime, JobConfig};
use kiln_model::{ProjectUuid, RunnerUuid, Slot};
use kiln_store::sql::job::Job;
use kiln_store::sql::runner::Runner;
use kiln_store::sql::{lane, spec};
use kiln_store::{Bell, Query, Tx};

use super::contact::Contact;
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

/// What an idle runner may do next.
#[derive(Debug)]
pub(super) struct Next {
    /// Nothing, when there is nothing for it.
    pub(super) assignment: Option<Assignment>,
    /// When there is nothing, the lanes that it serves, in id order: what it waits for.
    pub(super) lanes: Vec<i64>,
    /// The job that comes first, when this slot has to wait until it fits beside what the other slots hold.
    pub(super) aside: Option<i64>,
}

/// What a claim came to.
enum Outcome {
    Assigned(Box<Assignment>),
    Nothing,
    Aside(i64),
}

/// A claim may be beaten by another server; it is tried this often before the next bell.
const CLAIM_TRIES: u32 = 4;

/// The runner is idle: what it holds and never began is given to it again, or the next job is its. With the word that says
/// so, its contact is noted in the same transaction.
pub(super) async fn next(
    app: &App,
    runner: &Runner,
    slot: Slot,
    contact: Option<Contact>,
) -> Result<Next, Denied> {
    for _ in 0..CLAIM_TRIES {
        let (asking, contact) = (runner.clone(), contact.clone());
        let outcome = app
            .store
            .ledger
            .submit(move |tx: &mut dyn Tx| {
                match &contact {
                    Some(contact) => contact.note(tx)?,
                    None => words::credential(&asking).check(tx)?,
                }
                let (assignment, aside) = match claim(tx, &asking, slot)? {
                    Outcome::Assigned(assignment) => (Some(*assignment), None),
                    Outcome::Nothing => (None, None),
                    Outcome::Aside(first) => (None, Some(first)),
                };
                let lanes = match assignment {
                    Some(_) => Vec::new(),
                    None => lane::of_runner(tx, asking.id)?,
                };
                Ok(Next {
                    assignment,
                    lanes,
                    aside,
                })
            })
            .await;
        match outcome {
            Err(Denied::Raced) => {}
            Ok(mut next) => {
                next.assignment = next.assignment.map(|assignment| {
                    if assignment.is_new {
                        app.metrics.count(Count::JobClaim);
                    }
                    assignment.with_token(app, runner.uuid)
                });
                return Ok(next);
            }
            Err(denied) => return Err(denied),
        }
    }
    // Whoever was faster leaves something or nothing behind: somebody is to look again.
    let id = runner.id;
    let lanes = move |query: &mut dyn Query| Ok::<_, Denied>(lane::of_runner(query, id)?);
    let lanes = app.store.reader.read(lanes).await?;
    for lane in &lanes {
        app.store.bells.ring(Bell::Lane(*lane));
    }
    Ok(Next {
        assignment: None,
        lanes,
        aside: None,
    })
}

fn claim(tx: &mut dyn Tx, runner: &Runner, slot: Slot) -> Result<Outcome, Denied> {
    let actor = view::actor(runner.uuid);
    let claim = jobs::Claim {
        runner: runner.id,
        slot,
        actor: &actor,
        lease_id: None,
    };
    let (job, is_new) = match jobs::ready(tx, &claim)? {
        jobs::Assigned::New(job) => (*job, true),
        jobs::Assigned::Again(job) => (*job, false),
        jobs::Assigned::Nothing => return Ok(Outcome::Nothing),
        jobs::Assigned::Aside(first) => return Ok(Outcome::Aside(first)),
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
    Ok(Outcome::Assigned(Box::new(Assignment {
        job,
        claimed,
        is_new,
    })))
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
