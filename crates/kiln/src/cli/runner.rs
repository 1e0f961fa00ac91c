//! What can be typed after `kiln runner`, and `kiln noise`.
#![expect(
    clippy::doc_markdown,
    reason = "doc comments here are help texts for a terminal"
)]

use clap::{Args, Subcommand};

use super::{Json, directory};

#[derive(Debug, Subcommand)]
pub(crate) enum Runner {
    /// Connect to a server and execute its jobs until told to stop
    ///
    /// The first SIGTERM or Ctrl-C finishes and delivers what is held; the second stops it and says so.
    Up(Box<RunnerUp>),
    /// Run an image once on this host, without a server
    Run(Box<RunnerRun>),
    /// Print a systemd unit for a runner on this host
    Unit(RunnerUnit),
    #[command(flatten)]
    Fleet(directory::Fleet),
}

#[derive(Debug, Args)]
pub(crate) struct RunnerUp {
    /// URL of the server [env: KILN_HOST]
    #[arg(long, value_name = "URL")]
    pub(crate) host: Option<String>,

    /// The runner's key, bencher_runner_… [env: KILN_KEY]
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,

    /// UUID or slug of this runner [env: KILN_RUNNER]
    #[arg(long, value_name = "RUNNER")]
    pub(crate) runner: Option<String>,

    /// Directory for the cache of images and the spool of results [env: KILN_RUNNER_DATA] [default: kiln-runner]
    #[arg(long, value_name = "DIR")]
    pub(crate) runner_data: Option<String>,

    /// How many jobs to carry at once, 1 to 64 [env: KILN_SLOTS] [default: 1]
    ///
    /// Only jobs that share run side by side: those of specs made with `kiln spec create --shared`, for what counts instead of
    /// timing. Any other job waits until the runner is empty, and has it to itself until it ends. A server that does not
    /// know slots gives one job at a time.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) slots: Option<String>,

    /// Replace this program by the one the server offers: on or off [env: KILN_AUTO_UPDATE] [default: off]
    #[arg(long, value_name = "ON|OFF")]
    pub(crate) auto_update: Option<String>,

    #[command(flatten)]
    pub(crate) tuning: Tuning,

    #[command(flatten)]
    pub(crate) chambers: Chambers,
}

#[derive(Debug, Args)]
pub(crate) struct Tuning {
    /// Make this host quiet while the runner is up: on or off [env: KILN_TUNING] [default: off]
    ///
    /// With one slot, the cores that the runner may use are split either way: it keeps to the first, or the first two of eight and
    /// more, and jobs to the others. A job of more CPUs than those has every core.
    #[arg(long, value_name = "ON|OFF")]
    pub(crate) tuning: Option<String>,

    /// Settings (comma-separated) to make otherwise, NAME=VALUE, or not at all, NAME=leave [env: KILN_KNOBS]
    #[arg(long, value_name = "KNOBS")]
    pub(crate) knobs: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Chambers {
    /// Where jobs run: namespace, qemu, firecracker, process or auto [env: KILN_BACKEND] [default: namespace]
    ///
    /// `kiln doctor` says what works here and what auto takes.
    #[arg(long, value_name = "BACKEND")]
    pub(crate) backend: Option<String>,

    /// Kernel of machines [env: KILN_KERNEL] [default: the newest cloud kernel in the known places]
    #[arg(long, value_name = "PATH")]
    pub(crate) kernel: Option<String>,

    /// The Firecracker program [env: KILN_FIRECRACKER] [default: firecracker in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) firecracker: Option<String>,

    /// Firecracker's jailer, of the same release; needs root [env: KILN_JAILER] [default: none]
    #[arg(long, value_name = "PATH")]
    pub(crate) jailer: Option<String>,

    /// The QEMU program [env: KILN_QEMU] [default: the one for this machine in PATH]
    #[arg(long, value_name = "PATH")]
    pub(crate) qemu: Option<String>,

    /// Allow the back end process, which is no sandbox: a job can do to this host what the runner can
    /// [env: KILN_DANGER_ALLOW_NO_SANDBOX=on]
    #[arg(long)]
    pub(crate) danger_allow_no_sandbox: bool,

    /// Run jobs although this host cannot enforce every limit of theirs, as for an ordinary user without control groups of
    /// their own; results tell which [env: KILN_ACCEPT_MISSING_LIMITS=on]
    #[arg(long)]
    pub(crate) accept_missing_limits: bool,
}

impl Chambers {
    /// What was given, as settings.
    pub(crate) fn settings(&self) -> Vec<(&'static str, Option<String>)> {
        vec![
            ("backend", self.backend.clone()),
            ("kernel", self.kernel.clone()),
            ("firecracker", self.firecracker.clone()),
            ("jailer", self.jailer.clone()),
            ("qemu", self.qemu.clone()),
            (
                "danger-allow-no-sandbox",
                self.danger_allow_no_sandbox.then(|| "on".to_owned()),
            ),
            (
                "accept-missing-limits",
                self.accept_missing_limits.then(|| "on".to_owned()),
            ),
        ]
    }
}

#[derive(Debug, Args)]
pub(crate) struct ImageSource {
    /// Directory in the OCI layout, or REGISTRY/NAME:TAG
    #[arg(long)]
    pub(crate) image: String,

    /// Token for the registry
    #[arg(long)]
    pub(crate) token: Option<String>,

    /// Pull over http: for a registry without TLS that is not on this host
    #[arg(long)]
    pub(crate) plain_http: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunnerRun {
    #[command(flatten)]
    pub(crate) from: ImageSource,

    /// CPUs
    #[arg(long, default_value_t = 1)]
    pub(crate) vcpus: u32,

    /// Memory in MiB
    #[arg(long, default_value_t = 512)]
    pub(crate) memory: u32,

    /// Disk in MiB
    #[arg(long, default_value_t = 1024)]
    pub(crate) disk: u32,

    /// Seconds for all iterations together
    #[arg(long, default_value_t = 300)]
    pub(crate) timeout: u32,

    /// File to bring back, as a path in the image; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) output: Vec<String>,

    /// Entry point in place of the image's, one word each time
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) entrypoint: Vec<String>,

    /// Environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,

    /// Limit of each process, such as nofile=1024 or core=0:-1 (soft and hard, -1 for none); may be repeated. What this host does not allow is lowered and said
    #[arg(long, value_name = "NAME=SOFT[:HARD]")]
    pub(crate) ulimit: Vec<String>,

    /// Give it a network: the internet, but no private addresses
    #[arg(long)]
    pub(crate) network: bool,

    /// How often to run it
    #[arg(long, default_value_t = 1)]
    pub(crate) iter: u32,

    /// Go on after an iteration that fails
    #[arg(long)]
    pub(crate) allow_failure: bool,

    /// Directory for the cache of images [env: KILN_RUNNER_DATA] [default: kiln-runner]
    #[arg(long, value_name = "DIR")]
    pub(crate) runner_data: Option<String>,

    #[command(flatten)]
    pub(crate) tuning: Tuning,

    #[command(flatten)]
    pub(crate) chambers: Chambers,

    /// Print results and conditions as JSON
    #[command(flatten)]
    pub(crate) json: Json,

    /// Command in place of the image's
    #[arg(last = true)]
    pub(crate) cmd: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunnerUnit {
    /// URL of the server
    #[arg(long, value_name = "URL")]
    pub(crate) host: String,

    /// UUID or slug of the runner
    #[arg(long, value_name = "RUNNER")]
    pub(crate) runner: String,

    /// Make the host quiet while the runner is up
    #[arg(long)]
    pub(crate) tuning: bool,

    /// How many jobs to carry at once, as far as they share
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub(crate) slots: u32,
}

#[derive(Debug, Args)]
pub(crate) struct Noise {
    #[command(flatten)]
    pub(crate) json: Json,
}
