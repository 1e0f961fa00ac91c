//! `kiln run`, as it can be typed. Flags have the names that Bencher's have.

use clap::{Args, ValueEnum};
use kiln_model::v0::Adapter;
use kiln_model::{BranchName, GitHash, ResourceName};

use super::directory::Access;

/// Run a benchmark here or on a runner, and report what it measured.
///
/// Without --image the command runs on this machine, and what it prints is read by the adapter; with --image a runner
/// executes the image, and the command replaces the image's own. A single word that names a directory is made an image,
/// pushed and run. Without a command, results are read from standard input.
///
/// Where a KILN_ variable is not set, Bencher's own is understood too: BENCHER_HOST with BENCHER_API_KEY or
/// BENCHER_API_TOKEN, BENCHER_PROJECT, BENCHER_BRANCH, BENCHER_TESTBED, BENCHER_ADAPTER and BENCHER_CMD.
#[derive(Debug, Args)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) reading: Reading,
    #[command(flatten)]
    pub(crate) judging: Judging,
    #[command(flatten)]
    pub(crate) here: Here,
    #[command(flatten)]
    pub(crate) remote: Remote,
    #[command(flatten)]
    pub(crate) outcome: Outcome,
    #[command(flatten)]
    pub(crate) pull_request: PullRequest,
    #[command(flatten)]
    pub(crate) access: Access,
    /// Command to run: one word is a line for the shell, more are a program and its arguments [env: KILN_CMD]
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<String>,
}

/// Where the numbers belong.
#[derive(Debug, Args)]
#[command(next_help_heading = "Where the numbers belong")]
pub(crate) struct Place {
    /// Project, by UUID or slug [env: KILN_PROJECT] [default: the image's, or one named after the git repository]
    #[arg(long, short, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
    /// Branch, by UUID, slug or name [env: KILN_BRANCH] [default: the git branch, or main]
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<BranchName>,
    /// Commit [default: the one that is checked out]
    #[arg(long, value_name = "HASH")]
    pub(crate) hash: Option<GitHash>,
    /// Branch that a new branch starts from, with its history
    #[arg(long, value_name = "BRANCH")]
    pub(crate) start_point: Option<String>,
    /// Commit of the start point to start from [default: its newest]
    #[arg(long, value_name = "HASH", requires = "start_point")]
    pub(crate) start_point_hash: Option<GitHash>,
    /// The most versions of the start point to take over
    #[arg(
        long,
        value_name = "COUNT",
        requires = "start_point",
        default_value_t = 255
    )]
    pub(crate) start_point_max_versions: u32,
    /// Take over the start point's thresholds too
    #[arg(long, requires = "start_point")]
    pub(crate) start_point_clone_thresholds: bool,
    /// Start the branch again, even if it is there
    #[arg(long)]
    pub(crate) start_point_reset: bool,
    /// Testbed, by UUID, slug or name [env: KILN_TESTBED] [default: the runner's spec, or this operating system]
    #[arg(long, value_name = "TESTBED")]
    pub(crate) testbed: Option<ResourceName>,
    /// In CI, begin a project that nobody named, after the git repository; without it a run in CI names its project
    #[arg(long)]
    pub(crate) ci_on_the_fly: bool,
}

/// How results are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "How results are read")]
pub(crate) struct Reading {
    /// Which harness wrote them [env: KILN_ADAPTER] [default: magic, which finds out]
    #[arg(long, value_name = "ADAPTER")]
    pub(crate) adapter: Option<Adapter>,
    /// Which average of the harness to take
    #[arg(long, value_name = "AVERAGE")]
    pub(crate) average: Option<Average>,
    /// How often to run it
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) iter: u32,
    /// Make one result of all iterations
    #[arg(long, value_name = "FOLD")]
    pub(crate) fold: Option<Fold>,
    /// When the report is to say that it ran, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    pub(crate) backdate: Option<i64>,
    /// Report what was measured although the command failed
    #[arg(long)]
    pub(crate) allow_failure: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Average {
    Mean,
    Median,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Fold {
    Min,
    Max,
    Mean,
    Median,
}

/// Thresholds of the branch and testbed. Flags are repeated side by side, one for each measure; `_` leaves one out.
#[derive(Debug, Args)]
#[command(next_help_heading = "Thresholds (repeat for each measure; _ leaves one out)")]
pub(crate) struct Judging {
    /// Measure, by UUID, slug or name
    #[arg(long, value_name = "MEASURE")]
    pub(crate) threshold_measure: Vec<String>,
    /// Test: static, percentage, z_score, t_test, log_normal, iqr or delta_iqr
    #[arg(long, value_name = "TEST")]
    pub(crate) threshold_test: Vec<String>,
    /// The least results to judge by
    #[arg(long, value_name = "COUNT")]
    pub(crate) threshold_min_sample_size: Vec<String>,
    /// The most results to judge by
    #[arg(long, value_name = "COUNT")]
    pub(crate) threshold_max_sample_size: Vec<String>,
    /// How far back to look, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) threshold_window: Vec<String>,
    /// Lower boundary of the test
    #[arg(long, value_name = "BOUNDARY", allow_negative_numbers = true)]
    pub(crate) threshold_lower_boundary: Vec<String>,
    /// Upper boundary of the test
    #[arg(long, value_name = "BOUNDARY", allow_negative_numbers = true)]
    pub(crate) threshold_upper_boundary: Vec<String>,
    /// The least effect that is worth an alert, as a share of the baseline
    #[arg(long, value_name = "SHARE")]
    pub(crate) threshold_min_effect: Vec<String>,
    /// The accepted share of false alerts in a report
    #[arg(long, value_name = "SHARE")]
    pub(crate) threshold_false_discovery_rate: Vec<String>,
    /// Benchmarks that get no alert, as patterns with * and commas between them
    #[arg(long, value_name = "PATTERNS")]
    pub(crate) threshold_ignore: Vec<String>,
    /// Remove the thresholds of measures that are not named
    #[arg(long)]
    pub(crate) thresholds_reset: bool,
}

/// A command on this machine.
#[derive(Debug, Args)]
#[command(next_help_heading = "A command on this machine")]
pub(crate) struct Here {
    /// Shell for a command of one word
    #[arg(long, value_name = "SHELL", default_value = "/bin/sh")]
    pub(crate) shell: String,
    /// Flag that tells the shell to run a line
    #[arg(
        long,
        value_name = "FLAG",
        default_value = "-c",
        allow_hyphen_values = true
    )]
    pub(crate) flag: String,
    /// Run the command as a program even if it is one word
    #[arg(long)]
    pub(crate) exec: bool,
    /// Report how long the command took, in place of what it printed
    #[arg(long)]
    pub(crate) build_time: bool,
    /// Read results from this file, in place of what the command printed; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<String>,
    /// Report the size of this file, in place of what the command printed; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) file_size: Vec<String>,
}

/// An image on a runner.
#[derive(Debug, Args)]
#[command(next_help_heading = "An image on a runner")]
pub(crate) struct Remote {
    /// Image in the server's registry, PROJECT, PROJECT:TAG, PROJECT/REPOSITORY:TAG or PROJECT@DIGEST, or a directory, written ./DIR
    ///
    /// A directory is an image layout, or it has a Dockerfile, or it is the root of the image; it is pushed before it runs.
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
    /// Compare two images on one host, in turns: what it was, as for --image
    #[arg(long, value_name = "IMAGE", requires = "head", conflicts_with_all = ["image", "iter", "allow_failure"])]
    pub(crate) base: Option<String>,
    /// What it is now; the same image as --base checks the host itself
    #[arg(long, value_name = "IMAGE", requires = "base")]
    pub(crate) head: Option<String>,
    /// How many pairs at most; it ends earlier when it is decided [default: 60]
    #[arg(long, value_name = "COUNT", requires = "base")]
    pub(crate) pairs: Option<u32>,
    /// The least difference that matters, as a share [default: 0.02]
    #[arg(long, value_name = "SHARE", requires = "base")]
    pub(crate) gate: Option<f64>,
    /// The measure that decides [default: latency, or throughput, or all there are]
    #[arg(long, value_name = "MEASURE", requires = "base")]
    pub(crate) gate_measure: Option<String>,
    /// Hardware to run on, by UUID or slug [default: the testbed's, or the server's]
    #[arg(long, value_name = "SPEC")]
    pub(crate) spec: Option<String>,
    /// Let the testbed forget the spec it has: a job takes --spec or the server's own, results that are reported take none
    #[arg(long)]
    pub(crate) spec_reset: bool,
    /// Entry point in place of the image's, one word each time
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    pub(crate) entrypoint: Vec<String>,
    /// Environment variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// Seconds for all iterations together
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) job_timeout: Option<u32>,
    /// Look at the job every so many seconds, in place of following its events: for proxies that hold these back
    #[arg(long, value_name = "SECONDS", conflicts_with = "detach", value_parser = clap::value_parser!(u32).range(1..=900))]
    pub(crate) job_poll_interval: Option<u32>,
    /// Do not wait for the job: print its UUID, or its report as it is now with --format json
    #[arg(long, conflicts_with_all = ["github_actions", "gitlab"])]
    pub(crate) detach: bool,
}

/// What comes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "What comes of it")]
pub(crate) struct Outcome {
    /// Exit with code 13 when the report has alerts, or the head of a pair is slower
    #[arg(long, visible_alias = "err")]
    pub(crate) error_on_alert: bool,
    /// How to print the report; --json is the same as --format json
    #[arg(long, value_enum, default_value_t = Format::Human, conflicts_with = "json")]
    pub(crate) format: Format,
    /// Print the request and send nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Human,
    Json,
    Html,
    Markdown,
}

/// A word on the pull request.
#[derive(Debug, Args)]
#[command(next_help_heading = "A word on the pull request")]
pub(crate) struct PullRequest {
    /// Comment on the pull request and keep a check on the commit, with this token of GitHub Actions
    #[arg(long, value_name = "TOKEN")]
    pub(crate) github_actions: Option<String>,
    /// Comment on the merge request and keep a status on the commit, with this access token of GitLab
    #[arg(long, value_name = "TOKEN", conflicts_with = "github_actions")]
    pub(crate) gitlab: Option<String>,
    /// Leave out what no threshold judged
    #[arg(long)]
    pub(crate) ci_only_thresholds: bool,
    /// Do not begin to comment before there is an alert
    #[arg(long)]
    pub(crate) ci_only_on_alert: bool,
    /// Show plots, though whoever reads the comment has no key: the project is public
    #[arg(long)]
    pub(crate) ci_public_links: bool,
    /// Tells this comment from others on the same pull request [default: from the project, testbed and adapter]
    #[arg(long, value_name = "ID")]
    pub(crate) ci_id: Option<String>,
    /// Number of the pull request or merge request [default: the one this job runs for]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) ci_number: Option<u64>,
}

impl Average {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

impl Fold {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Median => "median",
        }
    }
}

#[cfg(test)]
impl Run {
    /// As if somebody had typed these words behind `kiln run`.
    pub(crate) fn typed(words: &[&str]) -> Self {
        #[derive(clap::Parser)]
        struct Typed {
            #[command(flatten)]
            run: Run,
        }

        let words = std::iter::once(&"run").chain(words);
        let typed: Typed = clap::Parser::try_parse_from(words).unwrap();
        typed.run
    }
}
