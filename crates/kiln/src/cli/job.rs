//! `kiln job …`, as it can be typed.

use clap::{Args, Subcommand};
use kiln_model::JobUuid;

use super::directory::Access;

#[derive(Debug, Subcommand)]
pub(crate) enum Job {
    /// List the jobs of a project, newest first
    List(List),
    /// Show one job
    Show(Named),
    /// Print what a job wrote
    Logs(Logs),
    /// Print the timeline of a job
    Events(Follow),
    /// Cancel a job that has not ended
    Cancel(Named),
    /// Do an ended job again, as a new job
    Retry(Named),
    /// Say why a job waits, and for how long
    Why(Named),
}

impl Job {
    pub(crate) const fn access(&self) -> &Access {
        match self {
            Self::List(list) => &list.project.access,
            Self::Show(named) | Self::Cancel(named) | Self::Retry(named) | Self::Why(named) => {
                &named.project.access
            }
            Self::Logs(logs) => &logs.named.project.access,
            Self::Events(follow) => &follow.named.project.access,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct InProject {
    /// Project, by UUID or slug
    #[arg(
        long,
        short,
        value_name = "PROJECT",
        env = "KILN_PROJECT",
        hide_env_values = true
    )]
    pub(crate) project: String,
    #[command(flatten)]
    pub(crate) access: Access,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) project: InProject,
    /// Only jobs in this status: pending, claimed, running, completed, processed, failed, canceled
    #[arg(long, value_name = "STATUS", value_parser = status)]
    pub(crate) status: Option<kiln_model::Status>,
    /// Which page, from 1
    #[arg(long, default_value_t = 1)]
    pub(crate) page: u32,
    /// Jobs per page
    #[arg(long, default_value_t = 25)]
    pub(crate) per_page: u8,
}

#[derive(Debug, Args)]
pub(crate) struct Named {
    /// UUID of the job
    #[arg(value_name = "JOB")]
    pub(crate) job: JobUuid,
    #[command(flatten)]
    pub(crate) project: InProject,
}

#[derive(Debug, Args)]
pub(crate) struct Logs {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Print what it writes while it runs, and wait until it has ended
    #[arg(long, short)]
    pub(crate) follow: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Follow {
    #[command(flatten)]
    pub(crate) named: Named,
    /// Go on with events as they happen, until the job has ended
    #[arg(long, short)]
    pub(crate) follow: bool,
}

fn status(text: &str) -> Result<kiln_model::Status, String> {
    kiln_model::Status::from_name(text).ok_or_else(|| format!("there is no status {text:?}"))
}
