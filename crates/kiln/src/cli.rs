//! What can be typed.

#![expect(
    clippy::doc_markdown,
    reason = "doc comments here are help texts for a terminal"
)]

pub(crate) mod directory;
mod image;
pub(crate) mod job;
pub(crate) mod numbers;
mod registry;
pub(crate) mod run;
mod runner;

use std::path::PathBuf;

pub(crate) use image::{Build, Image, Named, Pull, Push, Repository, Tag};
pub(crate) use registry::{Gc, Quota, Registry};
pub(crate) use runner::{Chambers, Noise, Runner, RunnerRun, RunnerUnit};

use clap::{Args, Parser, Subcommand};

/// Run code on your own machines and trust what comes back.
///
/// Start with `kiln demo`: it runs a server, a runner and one benchmark, shows what happened, and leaves nothing behind.
#[derive(Debug, Parser)]
#[command(
    name = "kiln",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// Configuration file (TOML); default: kiln/kiln.toml in the user's configuration directory
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print data and errors only
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Log filter, such as debug or kiln_server=debug,warn [env: KILN_LOG]
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<String>,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run one benchmark from end to end on this machine, and clean up
    Demo(Demo),
    /// Run the server
    Server(Server),
    /// Run the server with a local runner beside it, in one process
    Up(Up),
    /// Execute jobs for a server, and register those that do
    #[command(subcommand)]
    Runner(Runner),
    Run(Box<run::Run>),
    Compare(numbers::Compare),
    Perf(numbers::Perf),
    /// What runs measured
    #[command(subcommand)]
    Report(numbers::Report),
    /// What thresholds found
    #[command(subcommand)]
    Alert(numbers::Alert),
    /// What results are to stay within
    #[command(subcommand)]
    Threshold(numbers::Threshold),
    /// Look at jobs, cancel them, do them again
    #[command(subcommand)]
    Job(job::Job),
    /// Hardware shapes that jobs ask for
    #[command(subcommand)]
    Spec(directory::Spec),
    /// Organizations and who belongs to them
    #[command(subcommand)]
    Org(directory::Org),
    /// Projects and their keys
    #[command(subcommand)]
    Project(directory::Project),
    /// Keys of people
    #[command(subcommand)]
    Key(directory::Keys),
    /// Servers and keys, remembered by name
    #[command(subcommand)]
    Profile(directory::Profile),
    /// Measure how quiet this host is, and score it
    Noise(Noise),
    /// Look into the durable kernel: inboxes, dead letters, frames
    #[command(subcommand)]
    Kernel(Kernel),
    /// Run a recording of a server's kernel again, and name the first thing that comes out differently
    Replay(Replay),
    /// Make, push, pull and look at images
    #[command(subcommand)]
    Image(Image),
    /// Look after a server's registry of images
    #[command(subcommand)]
    Registry(Registry),
    /// Things only the administrator of a server does
    #[command(subcommand)]
    Admin(Admin),
    /// Show what each sandbox back end needs and has on this host, and which one `auto` takes; exit code 1 when none works
    Doctor(Doctor),
    /// Settings and where they come from
    #[command(subcommand)]
    Config(Config),
    /// List the exit codes
    ExitCodes(Json),
}

#[derive(Debug, Args)]
pub(crate) struct Json {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Demo {
    #[command(flatten)]
    pub(crate) json: Json,
    /// Keep the data directory and print where it is
    #[arg(long)]
    pub(crate) keep: bool,
}

/// Where a server keeps things, and how it is reached.
#[derive(Debug, Args)]
pub(crate) struct Server {
    /// Address to bind; port 0 picks a free one, which is printed and written to DATA/address [env: KILN_LISTEN] [default: 127.0.0.1:6610]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<String>,
    /// Directory that holds everything the server keeps [env: KILN_DATA] [default: kiln-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<String>,
    /// SQLite path or postgres:// URL [env: KILN_DATABASE] [default: DATA/kiln.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    /// Directory or s3:// URL for image blobs and outputs [env: KILN_OBJECTS] [default: DATA/objects]
    #[arg(long, value_name = "URL")]
    pub(crate) objects: Option<String>,
    /// What clients and runners are told to call [env: KILN_PUBLIC_URL] [default: the bound address]
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Addresses (comma-separated) whose X-Forwarded-For counts [env: KILN_TRUSTED_PROXY]
    #[arg(long, value_name = "ADDRESSES")]
    pub(crate) trusted_proxy: Option<String>,
    /// Seconds a runner may be silent [env: KILN_HEARTBEAT_TIMEOUT] [default: 90]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) heartbeat_timeout: Option<String>,
    /// Seconds a job may take beyond its timeout [env: KILN_JOB_GRACE] [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) job_grace: Option<String>,
    /// Seconds a job may wait for a runner [env: KILN_PENDING_EXPIRY] [default: for ever]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) pending_expiry: Option<String>,
    /// Let the plans of organizations decide about priorities, limits and timeouts: on or off [env: KILN_PLANS] [default: off]
    #[arg(long, value_name = "ON|OFF")]
    pub(crate) plans: Option<String>,
    /// Let strangers submit and push to projects that nobody has: on or off [env: KILN_ANONYMOUS_RUNS] [default: on]
    #[arg(long, value_name = "ON|OFF")]
    pub(crate) anonymous_runs: Option<String>,
    /// Who is told of the minutes that jobs run: file (DATA/billing.jsonl), stripe, or off [env: KILN_BILLING] [default: file]
    #[arg(long, value_name = "WHO")]
    pub(crate) billing: Option<String>,
    /// Where meter events are sent [env: KILN_BILLING_URL] [default: Stripe itself]
    #[arg(long, value_name = "URL")]
    pub(crate) billing_url: Option<String>,
    /// Name of the meter [env: KILN_BILLING_METER] [default: runner_minutes]
    #[arg(long, value_name = "NAME")]
    pub(crate) billing_meter: Option<String>,
    /// Private key at the payment provider; other users of this machine can see flags, so prefer the variable or the
    /// configuration file [env: KILN_BILLING_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) billing_key: Option<String>,
    /// OpenTelemetry collector to which metrics are pushed once a minute, such as http://host:4318 [env: KILN_OTLP]
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// MiB of output that a job may have beside its message, which holds 4; 0 takes none [env: KILN_MAX_OUTPUT] [default: 64]
    #[arg(long, value_name = "MIB")]
    pub(crate) max_output: Option<String>,
    /// Directory or URL of newer programs that runners are offered: v1.2.3/runner-v1.2.3-linux-x86-64 and the same with
    /// .sha256 [env: KILN_RELEASES]
    #[arg(long, value_name = "PLACE")]
    pub(crate) releases: Option<String>,
    /// How much anybody may do in a minute, an hour and a day: off, stock (what stock servers allow), or NAME=MINUTE/HOUR/DAY with
    /// commas between; names are address-requests, address-attempts, address-runs, user-requests, user-runs,
    /// project-requests, project-runs, organization-runs, runner-connects, and registry-bytes with the bytes a day of
    /// unclaimed, free and other organizations; each server counts for itself, and forgets what was done when it starts again [env: KILN_RATE_LIMITS] [default: off]
    #[arg(long, value_name = "LIMITS", verbatim_doc_comment)]
    pub(crate) rate_limits: Option<String>,
    /// Record the kernel's worker into a new file of this directory, for `kiln replay`; it grows with every step [env: KILN_RECORD]
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) server: Server,
    /// Directory for the runner's cache and spool [env: KILN_RUNNER_DATA] [default: DATA/runner]
    #[arg(long, value_name = "DIR")]
    pub(crate) runner_data: Option<String>,
    /// How many jobs its runner carries at once, as `kiln runner up --slots` [env: KILN_SLOTS] [default: 1]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) slots: Option<String>,
    #[command(flatten)]
    pub(crate) chambers: Chambers,
}

/// Which store to look into: a running server's over HTTP, or a data directory that no server has open.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// URL of a running server [env: KILN_HOST]
    #[arg(long, value_name = "URL")]
    pub(crate) host: Option<String>,
    /// The administrator's key [env: KILN_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    /// The server's data directory: used to find the running server, or opened when none runs [env: KILN_DATA] [default: kiln-data]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<String>,
    /// SQLite path or postgres:// URL [env: KILN_DATABASE] [default: DATA/kiln.db]
    #[arg(long, value_name = "URL")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Kernel {
    /// Count what is in the inboxes, timers, leases and dead letters
    Stats(Target),
    /// Frames that spent their retry budget
    #[command(subcommand)]
    DeadLetters(DeadLetters),
    /// Read and write frames (LMSG messages, LINT intents)
    #[command(subcommand)]
    Frame(Frame),
    /// Read the keys and values of the kernel's databases
    #[command(subcommand)]
    Key(Key),
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadLetters {
    /// List them
    List(Target),
    /// Show one, with its frame
    Show(DeadLetter),
    /// Put one back at the tail of its inbox; it keeps its id
    Replay(DeadLetter),
    /// Remove them after printing each (JSON lines with --json)
    Drain(Drain),
}

#[derive(Debug, Args)]
pub(crate) struct DeadLetter {
    /// WORKER:SEQUENCE, as `list` shows it
    pub(crate) letter: String,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Args)]
pub(crate) struct Drain {
    /// How many at most
    #[arg(long, default_value_t = 100)]
    pub(crate) max: u32,
    #[command(flatten)]
    pub(crate) target: Target,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Frame {
    /// Decode a frame given as hex; exit code 1 and the wire error's name when the bytes are bad
    Decode(Hex),
    /// Encode a frame from JSON on stdin, in the form `decode` prints
    Encode,
}

#[derive(Debug, Args)]
pub(crate) struct Hex {
    /// The frame, two hex digits for each byte
    #[arg(value_name = "HEX")]
    pub(crate) hex: String,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Key {
    /// Decode a key given as hex, and the value under it
    Decode(KeyDecode),
}

#[derive(Debug, Args)]
pub(crate) struct KeyDecode {
    /// The key, as hex
    #[arg(value_name = "HEX")]
    pub(crate) key: String,
    /// Which database: `app_state`, inbox, outbox, leases, timers, dedupe, `dead_letter`, or its number [default: every one it fits]
    #[arg(long, value_name = "DBI")]
    pub(crate) dbi: Option<String>,
    /// The value under the key, as hex
    #[arg(long, value_name = "HEX")]
    pub(crate) value: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// A file that `kiln server --record DIR` made
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Admin {
    /// Make another administrator key and print it once
    Key(Target),
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(subcommand)]
    pub(crate) command: Option<DoctorCommand>,
    #[command(flatten)]
    pub(crate) programs: Programs,
    #[command(flatten)]
    pub(crate) json: Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DoctorCommand {
    /// Boot a kernel without a job, print its serial output, and say how it ended
    Boot(DoctorBoot),
}

#[derive(Debug, Args)]
pub(crate) struct DoctorBoot {
    /// Which back end: firecracker or qemu
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: String,
    #[command(flatten)]
    pub(crate) programs: Programs,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) seconds: u64,
}

/// Programs and files of the back ends that are machines.
#[derive(Debug, Args)]
pub(crate) struct Programs {
    /// The Firecracker program [default: firecracker in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) firecracker: Option<PathBuf>,
    /// Firecracker's jailer, of the same release [default: none]
    #[arg(long, value_name = "PATH")]
    pub(crate) jailer: Option<PathBuf>,
    /// The QEMU program [default: the one for this machine in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) qemu: Option<PathBuf>,
    /// The guest kernel [default: the newest cloud kernel in the known places]
    #[arg(long, value_name = "PATH")]
    pub(crate) kernel: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Print every setting that is in effect, and where it comes from
    Show(Json),
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
