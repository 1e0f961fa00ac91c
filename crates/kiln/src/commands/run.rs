//! `kiln run`.

mod here;
mod live;
mod models;
mod origin;
mod repository;
mod request;
mod variables;
mod watch;
mod work;

use std::path::Path;
use std::time::Duration;

use kiln_client::{Client, Error};
use kiln_model::v0::{NewRun, PairedOutcome, Report, Visibility};
use kiln_model::{Clock as _, KeyUuid};
use kiln_store::{SystemClock, SystemEntropy};

use super::Context;
use super::ci::{Begun, Ci};
use super::connection::Connection;
use super::image::Made;
use super::server::StopSignals;
use super::target::from_client;
use crate::cli::run::{Format, Run};
use crate::failure::{Exit, Failure};
use crate::report::{Links, Show, View, html, markdown, text};
use here::Measured;
use repository::Repository;
pub(super) use variables::Variables;
use work::{Source, Work};

/// A request whose answer got lost is sent again: its key makes that safe.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

const READ_BY_ADAPTER: &str = "name the harness that wrote them with --adapter";

pub(super) fn run(context: &Context<'_>, run: &Run) -> Result<Exit, Failure> {
    let variables = Variables::of_process();
    let plan = Plan::new(run, &variables)?;
    if run.outcome.dry_run {
        let request = plan.request(context, None)?;
        context.terminal.json(&request)?;
        return Ok(Exit::Ok);
    }
    let ci = Ci::of(&run.pull_request, &variables)?;
    // First, so that nobody waits for a benchmark whose numbers cannot be sent.
    let server = Connection::find(context)?;
    let (terminal, tokio) = (context.terminal, &server.runtime);
    let begun = match &ci {
        Some(ci) => tokio.block_on(ci.begin(terminal))?,
        None => Begun::default(),
    };
    let outcome = plan.carry_out(context, &server);
    if let Ok(Some(report)) = &outcome {
        print(context, run, &server.client, report)?;
    }
    if let Some(ci) = &ci {
        let told = match &outcome {
            Ok(Some(report)) => Ok((report, server.client.base())),
            Ok(None) => return Ok(Exit::Ok),
            Err(failure) => Err(failure),
        };
        let finished = tokio.block_on(ci.finish(terminal, begun, told));
        // The run's own failure is the one to tell about.
        if outcome.is_ok() {
            finished?;
        }
    }
    match outcome? {
        Some(report) => ending(run, &report),
        None => Ok(Exit::Ok),
    }
}

/// Everything that can be known before anything runs.
struct Plan<'a> {
    run: &'a Run,
    work: Work,
    repository: Option<Repository>,
    clock: SystemClock,
    /// Without the work.
    request: NewRun,
}

impl<'a> Plan<'a> {
    fn new(run: &'a Run, variables: &Variables) -> Result<Self, Failure> {
        let work = Work::of(run, variables)?;
        let clock = SystemClock::new();
        let key = KeyUuid::mint(clock.wall(), &SystemEntropy).to_string();
        let repository = Repository::around(Path::new("."));
        let origin = origin::origin(repository.as_ref(), variables);
        let request = request::new_run(run, variables, origin, key)?;
        work.check_project(&request, run, variables)?;
        Ok(Self {
            run,
            work,
            repository,
            clock,
            request,
        })
    }

    /// Does the work as far as it is done here, and answers what to send. With a server, an image is pushed to it.
    fn request(
        &self,
        context: &Context<'_>,
        server: Option<&Connection>,
    ) -> Result<NewRun, Failure> {
        let (run, mut request) = (self.run, self.request.clone());
        match &self.work {
            Work::Command(words) => {
                let (here, reading) = (&run.here, &run.reading);
                let measured = here::run(context.terminal, &self.clock, words, here, reading)?;
                self.take(&mut request, measured);
            }
            Work::Input => self.take(&mut request, here::input(&self.clock)?),
            Work::Image(source) => {
                // A directory that stands alone is not a command, too.
                let words = if run.remote.image.is_some() {
                    run.command.as_slice()
                } else {
                    &[]
                };
                let image = self.image(context, &mut request, source, server)?;
                request::with_image(&mut request, image, run, words)?;
            }
            Work::Pair(base, head) => {
                let base = self.image(context, &mut request, base, server)?;
                let head = self.image(context, &mut request, head, server)?;
                request::with_image(&mut request, base, run, &run.command)?;
                request::with_head(&mut request, head, run);
            }
        }
        Ok(request)
    }

    /// The reference of an image that the server has, which one made of a directory does after it was pushed.
    fn image(
        &self,
        context: &Context<'_>,
        request: &mut NewRun,
        source: &Source,
        server: Option<&Connection>,
    ) -> Result<String, Failure> {
        let path = match source {
            Source::Registry(reference) => return Ok(reference.clone()),
            Source::Directory(path) => path,
        };
        let made = Made::of(context, path)?;
        let project = self.project()?;
        if server.is_some() {
            made.push(context, &project)?;
        }
        let reference = made.reference(&project);
        request.project = Some(project);
        Ok(reference)
    }

    fn take(&self, request: &mut NewRun, measured: Measured) {
        request::with_results(request, measured, &self.run.reading);
    }

    /// The project that an image is pushed to: a registry wants one before there is a run.
    fn project(&self) -> Result<String, Failure> {
        let given = self.request.project.clone();
        let from_git = || Some(origin::project(self.repository.as_ref()?)?.to_string());
        given.or_else(from_git).ok_or_else(|| {
            Failure::usage("it is not known which project the image belongs to")
                .hint("name one with --project")
        })
    }

    /// The finished report; nothing when nobody waits for it.
    fn carry_out(
        &self,
        context: &Context<'_>,
        server: &Connection,
    ) -> Result<Option<Report>, Failure> {
        let request = self.request(context, Some(server))?;
        server.runtime.block_on(async {
            let mut stop = StopSignals::install()?;
            let report = submit(&server.client, &request).await?;
            let Some(job) = report.job else {
                return Ok(Some(report));
            };
            if self.run.remote.detach {
                match format(self.run) {
                    Format::Json => context.terminal.json(&report)?,
                    Format::Human | Format::Html | Format::Markdown => {
                        context.terminal.data(&job.to_string())?;
                    }
                }
                return Ok(None);
            }
            let project = report.project.slug.as_str();
            let every = self.run.remote.job_poll_interval;
            let every = every.map(|seconds| Duration::from_secs(seconds.into()));
            let (terminal, client) = (context.terminal, &server.client);
            watch::watch(terminal, client, &mut stop, (project, job), every).await?;
            let report = server.client.get_report(project, report.uuid).await;
            report.map(Some).map_err(from_client)
        })
    }
}

async fn submit(client: &Client, request: &NewRun) -> Result<Report, Failure> {
    let mut attempt = 1;
    loop {
        match client.submit_run(request).await {
            Err(Error::Unreachable { .. }) if attempt < ATTEMPTS => attempt += 1,
            Err(error) if is_unreadable(&error) => {
                let failure = from_client(error);
                let failure = Failure {
                    exit: Exit::JobFailed,
                    ..failure
                };
                return Err(failure.hint(READ_BY_ADAPTER));
            }
            outcome => return outcome.map_err(from_client),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether the server could not read the results, and not just the request.
fn is_unreadable(error: &Error) -> bool {
    let answer = error.answer();
    answer.is_some_and(|answer| answer.message.starts_with("Failed to convert results"))
}

fn print(
    context: &Context<'_>,
    run: &Run,
    client: &Client,
    report: &Report,
) -> Result<(), Failure> {
    print_report(context, format(run), client, report)
}

/// The form that was asked for, by either flag.
const fn format(run: &Run) -> Format {
    if run.access.json.json {
        Format::Json
    } else {
        run.outcome.format
    }
}

/// A report in the form that was asked for.
pub(super) fn print_report(
    context: &Context<'_>,
    format: Format,
    client: &Client,
    report: &Report,
) -> Result<(), Failure> {
    let plots = report.project.visibility == Visibility::Public;
    let links = Links::new(client.base(), plots);
    let view = View::new(report, &links, Show::Everything);
    match format {
        Format::Human => context.terminal.data(&text(&view)),
        Format::Json => context.terminal.json(report),
        Format::Html => context.terminal.data(html(&view).trim_end()),
        Format::Markdown => context
            .terminal
            .data(markdown(&view, usize::MAX).trim_end()),
    }
}

fn ending(run: &Run, report: &Report) -> Result<Exit, Failure> {
    if report.status.as_deref() == Some("invalid") {
        let why = report.error.as_deref().unwrap_or("no reason was given");
        let failure = Failure::new(
            Exit::JobFailed,
            format!("the results cannot be read: {why}"),
        );
        return Err(failure.hint(READ_BY_ADAPTER));
    }
    let is_slower = |outcome: &PairedOutcome| outcome.verdict == "slower" && !outcome.self_check;
    if run.outcome.error_on_alert && report.paired.as_deref().is_some_and(is_slower) {
        return Err(Failure::new(
            Exit::Alerts,
            "the head is slower than the base",
        ));
    }
    let alerts = report.counts.alerts.active;
    if run.outcome.error_on_alert && alerts > 0 {
        let what = if alerts == 1 { "alert" } else { "alerts" };
        return Err(Failure::new(
            Exit::Alerts,
            format!("the report has {alerts} active {what}"),
        ));
    }
    Ok(Exit::Ok)
}
