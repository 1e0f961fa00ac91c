//! `kiln compare`, `perf`, `report`, `alert` and `threshold`, as they can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use kiln_model::{AlertUuid, ReportUuid, ThresholdUuid};

use super::directory::Access;
use super::job::InProject;

/// Compare two reports, commits or branches, benchmark by benchmark, without any threshold.
#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// What it was: a report's UUID, a commit, or a branch (then its newest version)
    pub(crate) base: String,
    /// What it is now
    pub(crate) head: String,
    #[command(flatten)]
    pub(crate) project: InProject,
    /// The least difference that matters, as a share [default: 0.02]
    #[arg(long, value_name = "SHARE")]
    pub(crate) gate: Option<f64>,
    /// How sure to be, from 0.5 to 0.9999 [default: 0.99]
    #[arg(long, value_name = "SHARE")]
    pub(crate) confidence: Option<f64>,
    /// Exit with code 13 when something is slower
    #[arg(long)]
    pub(crate) error_on_slower: bool,
}

/// Plot metrics over time.
///
/// Dimensions are given by UUID, slug or name, and may be repeated; one that is not given stands for all there are.
#[derive(Debug, Args)]
pub(crate) struct Perf {
    #[command(flatten)]
    pub(crate) project: InProject,
    /// Branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Vec<String>,
    /// Testbed
    #[arg(long, value_name = "TESTBED")]
    pub(crate) testbed: Vec<String>,
    /// Benchmark
    #[arg(long, value_name = "BENCHMARK")]
    pub(crate) benchmark: Vec<String>,
    /// Measure
    #[arg(long, value_name = "MEASURE")]
    pub(crate) measure: Vec<String>,
    /// Nothing older than this, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    pub(crate) start_time: Option<i64>,
    /// Nothing newer than this, in seconds since 1970
    #[arg(long, value_name = "SECONDS")]
    pub(crate) end_time: Option<i64>,
    /// What runs from left to right
    #[arg(long, value_enum, default_value_t = Axis::DateTime)]
    pub(crate) x_axis: Axis,
    /// Print comma-separated values
    #[arg(long, conflicts_with_all = ["json", "img"])]
    pub(crate) csv: bool,
    /// Save a picture: SVG if the name ends so, else PNG
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) img: Option<PathBuf>,
    /// Title of the picture [default: the project's name]
    #[arg(long, requires = "img")]
    pub(crate) title: Option<String>,
    /// Width of plots in characters
    #[arg(long, value_name = "COLUMNS", env = "COLUMNS", hide_env_values = true, default_value_t = 80, value_parser = clap::value_parser!(u16).range(20..=1000))]
    pub(crate) columns: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Axis {
    DateTime,
    Version,
}

/// What a list is to hold.
#[derive(Debug, Args)]
pub(crate) struct Only {
    /// Only of this branch
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Only of this testbed
    #[arg(long, value_name = "TESTBED")]
    pub(crate) testbed: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Paging {
    /// Which page, from 1
    #[arg(long, default_value_t = 1)]
    pub(crate) page: u32,
    /// Lines per page
    #[arg(long, default_value_t = 25)]
    pub(crate) per_page: u8,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Report {
    /// List the reports of a project, newest first
    List(ReportList),
    /// Show what a report measured, and its alerts
    Show(ReportShow),
}

#[derive(Debug, Args)]
pub(crate) struct ReportList {
    #[command(flatten)]
    pub(crate) project: InProject,
    #[command(flatten)]
    pub(crate) only: Only,
    #[command(flatten)]
    pub(crate) paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct ReportShow {
    /// UUID of the report
    pub(crate) report: ReportUuid,
    #[command(flatten)]
    pub(crate) project: InProject,
    /// How to print it; --json is the same as --format json
    #[arg(long, value_enum, default_value_t = super::run::Format::Human, conflicts_with = "json")]
    pub(crate) format: super::run::Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Alert {
    /// List the alerts of a project, newest first
    List(AlertList),
    /// Show one, with the threshold that raised it
    Show(AlertNamed),
    /// Say that it was looked at
    Dismiss(AlertNamed),
    /// Say that it does not matter
    Silence(AlertNamed),
    /// Make it active again
    Activate(AlertNamed),
}

#[derive(Debug, Args)]
pub(crate) struct AlertList {
    #[command(flatten)]
    pub(crate) project: InProject,
    /// Only of this status: active, dismissed or silenced
    #[arg(long, value_name = "STATUS")]
    pub(crate) status: Option<String>,
    #[command(flatten)]
    pub(crate) paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct AlertNamed {
    /// UUID of the alert
    pub(crate) alert: AlertUuid,
    #[command(flatten)]
    pub(crate) project: InProject,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Threshold {
    /// List the thresholds of a project
    List(ThresholdList),
    /// Show one
    Show(ThresholdNamed),
    /// Make a threshold, or give the one that is there another model
    Set(ThresholdSet),
    /// Remove one with its alerts
    Rm(ThresholdNamed),
}

#[derive(Debug, Args)]
pub(crate) struct ThresholdList {
    #[command(flatten)]
    pub(crate) project: InProject,
    #[command(flatten)]
    pub(crate) only: Only,
    /// Only of this measure
    #[arg(long, value_name = "MEASURE")]
    pub(crate) measure: Option<String>,
    #[command(flatten)]
    pub(crate) paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct ThresholdNamed {
    /// UUID of the threshold
    pub(crate) threshold: ThresholdUuid,
    #[command(flatten)]
    pub(crate) project: InProject,
}

#[derive(Debug, Args)]
pub(crate) struct ThresholdSet {
    #[command(flatten)]
    pub(crate) project: InProject,
    /// Branch, by UUID, slug or name
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: String,
    /// Testbed, by UUID, slug or name
    #[arg(long, value_name = "TESTBED")]
    pub(crate) testbed: String,
    /// Measure, by UUID, slug or name
    #[arg(long, value_name = "MEASURE")]
    pub(crate) measure: String,
    /// Only for this benchmark
    #[arg(long, value_name = "BENCHMARK")]
    pub(crate) benchmark: Option<String>,
    /// Test: static, percentage, z_score, t_test, log_normal, iqr or delta_iqr
    #[arg(long, value_name = "TEST")]
    pub(crate) test: String,
    /// The least results to judge by
    #[arg(long, value_name = "COUNT")]
    pub(crate) min_sample_size: Option<u32>,
    /// The most results to judge by
    #[arg(long, value_name = "COUNT")]
    pub(crate) max_sample_size: Option<u32>,
    /// How far back to look, in seconds
    #[arg(long, value_name = "SECONDS")]
    pub(crate) window: Option<u32>,
    /// Lower boundary of the test
    #[arg(long, value_name = "BOUNDARY", allow_negative_numbers = true)]
    pub(crate) lower_boundary: Option<f64>,
    /// Upper boundary of the test
    #[arg(long, value_name = "BOUNDARY", allow_negative_numbers = true)]
    pub(crate) upper_boundary: Option<f64>,
    /// The least effect that is worth an alert, as a share of the baseline
    #[arg(long, value_name = "SHARE")]
    pub(crate) min_effect: Option<f64>,
    /// The accepted share of false alerts in a report
    #[arg(long, value_name = "SHARE")]
    pub(crate) false_discovery_rate: Option<f64>,
    /// Benchmarks that get no alert, as a pattern with *; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub(crate) ignore: Vec<String>,
}

impl Paging {
    pub(crate) const fn page(&self) -> kiln_client::Page {
        kiln_client::Page {
            number: self.page,
            size: self.per_page,
        }
    }
}

impl Report {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::List(list) => &list.project.access,
            Self::Show(show) => &show.project.access,
        }
    }
}

impl Alert {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::List(list) => &list.project.access,
            Self::Show(named)
            | Self::Dismiss(named)
            | Self::Silence(named)
            | Self::Activate(named) => &named.project.access,
        }
    }
}

impl Threshold {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::List(list) => &list.project.access,
            Self::Show(named) | Self::Rm(named) => &named.project.access,
            Self::Set(set) => &set.project.access,
        }
    }
}
