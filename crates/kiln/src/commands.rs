//! One file per command.

mod alert;
mod chart;
mod ci;
mod compare;
mod config;
mod connection;
mod demo;
mod doctor;
mod exit_codes;
mod fleet;
mod follow;
mod image;
mod job;
mod kernel;
mod key;
mod logs;
mod noise;
mod org;
mod perf;
mod profile;
mod project;
mod registry;
mod replay;
mod report;
mod run;
mod runner;
mod server;
mod spec;
mod table;
mod target;
mod threshold;
mod up;

use crate::cli::{Admin, Cli, Command, Config, Runner};
use crate::failure::{Exit, Failure};
use crate::settings::{Flags, Settings};
use crate::terminal::Terminal;

/// What every command can reach.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) settings: Settings,
    pub(crate) terminal: &'a Terminal,
}

/// What comes before even the words are understood: a new runner on trial may fail at that.
pub(crate) fn before_anything() -> Result<(), Failure> {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    if runner::is_runner(&words) {
        runner::count_start()?;
    }
    Ok(())
}

pub(crate) fn run(cli: Cli, terminal: &Terminal) -> Result<Exit, Failure> {
    let mut flags: Flags = vec![("log", cli.log)];
    flags.extend(given(&cli.command));
    let settings = Settings::load(cli.config.as_deref(), &flags)?;
    let context = Context { settings, terminal };
    match cli.command {
        Command::Demo(demo) => demo::run(&context, &demo),
        Command::Server(_) => server::run(&context),
        Command::Up(_) => up::run(&context),
        Command::Runner(Runner::Up(_)) => runner::run(&context),
        Command::Job(command) => job::run(&context, &command),
        Command::Run(command) => run::run(&context, &command),
        Command::Compare(command) => compare::run(&context, &command),
        Command::Perf(command) => perf::run(&context, &command),
        Command::Report(command) => report::run(&context, &command),
        Command::Alert(command) => alert::run(&context, &command),
        Command::Threshold(command) => threshold::run(&context, &command),
        Command::Runner(Runner::Fleet(command)) => fleet::run(&context, command),
        Command::Spec(command) => spec::run(&context, command),
        Command::Org(command) => org::run(&context, command),
        Command::Project(command) => project::run(&context, command),
        Command::Key(command) => key::run(&context, command),
        Command::Profile(command) => profile::run(&context, command),
        Command::Runner(Runner::Run(run)) => runner::run_once(&context, &run),
        Command::Runner(Runner::Unit(unit)) => runner::unit(&context, &unit),
        Command::Noise(noise) => noise::run(&context, &noise),
        Command::Kernel(command) => kernel::run(&context, command),
        Command::Replay(replay) => replay::run(&context, &replay),
        Command::Image(command) => image::run(&context, &command),
        Command::Registry(command) => registry::run(&context, &command),
        Command::Admin(Admin::Key(target)) => target::new_admin_key(&context, &target),
        Command::Doctor(doctor) => doctor::run(&context, &doctor),
        Command::Config(Config::Show(json)) => config::show(&context, json.json),
        Command::ExitCodes(json) => exit_codes::run(&context, json.json),
    }
}

/// The settings given as flags of the command.
fn given(command: &Command) -> Flags {
    use crate::cli::directory::{Access, Profile};
    use crate::cli::{DeadLetters, Kernel, Server, Target};
    let server = |server: &Server| -> Flags {
        vec![
            ("listen", server.listen.clone()),
            ("data", server.data.clone()),
            ("database", server.database.clone()),
            ("objects", server.objects.clone()),
            ("public-url", server.public_url.clone()),
            ("trusted-proxy", server.trusted_proxy.clone()),
            ("heartbeat-timeout", server.heartbeat_timeout.clone()),
            ("job-grace", server.job_grace.clone()),
            ("pending-expiry", server.pending_expiry.clone()),
            ("plans", server.plans.clone()),
            ("anonymous-runs", server.anonymous_runs.clone()),
            ("billing", server.billing.clone()),
            ("billing-url", server.billing_url.clone()),
            ("billing-meter", server.billing_meter.clone()),
            ("billing-key", server.billing_key.clone()),
            ("otlp", server.otlp.clone()),
            ("max-output", server.max_output.clone()),
            ("releases", server.releases.clone()),
            ("rate-limits", server.rate_limits.clone()),
            ("record", server.record.clone()),
        ]
    };
    let target = |target: &Target| -> Flags {
        vec![
            ("host", target.host.clone()),
            ("key", target.key.clone()),
            ("data", target.data.clone()),
            ("database", target.database.clone()),
        ]
    };
    let access = |access: &Access| -> Flags {
        vec![
            ("host", access.host.clone()),
            ("key", access.key.clone()),
            ("profile", access.profile.clone()),
            ("data", access.data.clone()),
        ]
    };
    match command {
        Command::Runner(Runner::Fleet(command)) => access(command.access()),
        Command::Spec(command) => access(command.access()),
        Command::Org(command) => access(command.access()),
        Command::Project(command) => access(command.access()),
        Command::Key(command) => access(command.access()),
        Command::Profile(Profile::Add(add)) => {
            vec![("host", add.host.clone()), ("key", add.key.clone())]
        }
        Command::Server(flags) => server(flags),
        Command::Up(up) => {
            let mut flags = server(&up.server);
            flags.push(("runner-data", up.runner_data.clone()));
            flags.push(("slots", up.slots.clone()));
            flags.extend(up.chambers.settings());
            flags
        }
        Command::Runner(Runner::Up(up)) => vec![
            ("host", up.host.clone()),
            ("key", up.key.clone()),
            ("runner", up.runner.clone()),
            ("runner-data", up.runner_data.clone()),
            ("slots", up.slots.clone()),
            ("auto-update", up.auto_update.clone()),
            ("tuning", up.tuning.tuning.clone()),
            ("knobs", up.tuning.knobs.clone()),
        ]
        .into_iter()
        .chain(up.chambers.settings())
        .collect(),
        Command::Runner(Runner::Run(run)) => vec![
            ("runner-data", run.runner_data.clone()),
            ("tuning", run.tuning.tuning.clone()),
            ("knobs", run.tuning.knobs.clone()),
        ]
        .into_iter()
        .chain(run.chambers.settings())
        .collect(),
        Command::Job(job) => access(job.access()),
        Command::Run(run) => access(&run.access),
        Command::Compare(compare) => access(&compare.project.access),
        Command::Perf(perf) => access(&perf.project.access),
        Command::Report(command) => access(command.access()),
        Command::Alert(command) => access(command.access()),
        Command::Threshold(command) => access(command.access()),
        Command::Kernel(Kernel::Stats(flags) | Kernel::DeadLetters(DeadLetters::List(flags)))
        | Command::Admin(Admin::Key(flags)) => target(flags),
        Command::Kernel(Kernel::DeadLetters(
            DeadLetters::Show(letter) | DeadLetters::Replay(letter),
        )) => target(&letter.target),
        Command::Kernel(Kernel::DeadLetters(DeadLetters::Drain(drain))) => target(&drain.target),
        Command::Registry(command) => target(command.target()),
        Command::Image(command) => command.access().map(access).unwrap_or_default(),
        Command::Kernel(Kernel::Frame(_) | Kernel::Key(_))
        | Command::Replay(_)
        | Command::Demo(_)
        | Command::Profile(_)
        | Command::Noise(_)
        | Command::Runner(Runner::Unit(_))
        | Command::Doctor(_)
        | Command::Config(_)
        | Command::ExitCodes(_) => Vec::new(),
    }
}
