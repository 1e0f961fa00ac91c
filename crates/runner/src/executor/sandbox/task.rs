//! What is asked of a job's command, whoever asks.

use std::time::Duration;

use kiln_model::v0::JobConfig;
use kiln_sandbox::ResourceBound;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Task {
    /// For all iterations together: the server counts the whole job.
    pub(super) timeout: Duration,
    pub(super) allow_failure: bool,
    /// The name under which the time of the command is reported, if it is.
    pub(super) build_time: Option<String>,
    /// Whether the sizes of files are reported, and not what is in them.
    pub(super) file_size: bool,
    /// Beyond those that every command has.
    pub(super) resources: Vec<ResourceBound>,
}

impl Task {
    pub(super) fn of(config: &JobConfig) -> Self {
        Self {
            timeout: Duration::from_secs(u64::from(config.timeout)),
            allow_failure: config.allow_failure == Some(true),
            build_time: (config.build_time == Some(true)).then(|| name(config)),
            file_size: config.file_size == Some(true),
            resources: Vec::new(),
        }
    }
}

/// What the build time is the time of.
fn name(config: &JobConfig) -> String {
    let words = [&config.entrypoint, &config.cmd];
    let command: Vec<&str> = words
        .into_iter()
        .flatten()
        .flatten()
        .map(String::as_str)
        .collect();
    if !command.is_empty() {
        return command.join(" ");
    }
    match &config.image {
        Some(image) => image.clone(),
        None => format!("{}@{}", config.project, config.digest),
    }
}
