//! The command that really runs: the image's own words and the caller's, by Docker's rules.

mod accounts;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use crate::ImageConfig;
use crate::limits::{MAX_ARGUMENT_BYTES, MAX_ENVIRONMENT_BYTES};
use crate::root::Root;

pub use accounts::Identity;

/// What Docker gives a container whose image sets no `PATH`.
pub const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("neither the image nor the job says what to run")]
    Nothing,
    #[error("a zero byte in {0}")]
    Nul(&'static str),
    #[error("arguments have {0} bytes, more than the {MAX_ARGUMENT_BYTES} allowed")]
    ArgumentsTooLarge(usize),
    #[error("environment has {0} bytes, more than the {MAX_ENVIRONMENT_BYTES} allowed")]
    EnvironmentTooLarge(usize),
    #[error("environment entry {0:?} is not KEY=value")]
    Environment(String),
    #[error("user {0:?} is not in the image's /etc/passwd")]
    UnknownUser(String),
    #[error("group {0:?} is not in the image's /etc/group")]
    UnknownGroup(String),
    #[error("cannot read {path} of the image")]
    Accounts {
        path: &'static str,
        source: io::Error,
    },
    #[error("cannot open the image's root directory")]
    Root(#[source] io::Error),
}

/// What a job says instead of the image. `None` is silence; an empty list is the word "nothing".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    pub entrypoint: Option<Vec<String>>,
    pub cmd: Option<Vec<String>>,
    pub env: BTreeMap<String, String>,
    pub workdir: Option<String>,
    pub user: Option<String>,
}

/// What to run, with what, where and as whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Never empty. The first is a path, or a name to look up in `PATH` inside the root.
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// An absolute path inside the root; it may have to be made.
    pub workdir: String,
    pub identity: Identity,
}

impl Command {
    /// Decides the command for an image unpacked at `root`.
    pub fn resolve(
        config: &ImageConfig,
        overrides: &Overrides,
        root: &Path,
    ) -> Result<Self, CommandError> {
        let image = &config.config;
        let argv = arguments(
            image.entrypoint.as_deref().unwrap_or_default(),
            image.cmd.as_deref().unwrap_or_default(),
            overrides,
        )?;
        let root = Root::open(root).map_err(CommandError::Root)?;
        let user = overrides
            .user
            .as_deref()
            .or(image.user.as_deref())
            .unwrap_or_default();
        let identity = Identity::resolve(user, &root)?;
        let mut env = environment(image.env.as_deref().unwrap_or_default(), overrides)?;
        env.entry("HOME".to_owned())
            .or_insert_with(|| identity.home.clone());
        let workdir = overrides
            .workdir
            .as_deref()
            .or(image.working_dir.as_deref());
        let workdir = absolute(workdir.unwrap_or_default());
        if workdir.contains('\0') {
            return Err(CommandError::Nul("the working directory"));
        }
        Ok(Self {
            argv,
            env,
            workdir,
            identity,
        })
    }
}

/// A given entry point takes the image's arguments away with the image's entry point.
fn arguments(
    entrypoint: &[String],
    cmd: &[String],
    overrides: &Overrides,
) -> Result<Vec<String>, CommandError> {
    let (entrypoint, cmd) = match (&overrides.entrypoint, &overrides.cmd) {
        (Some(given), None) => (given.as_slice(), [].as_slice()),
        (Some(given), Some(arguments)) => (given.as_slice(), arguments.as_slice()),
        (None, Some(arguments)) => (entrypoint, arguments.as_slice()),
        (None, None) => (entrypoint, cmd),
    };
    let argv: Vec<String> = entrypoint.iter().chain(cmd).cloned().collect();
    if argv.first().is_none_or(String::is_empty) {
        return Err(CommandError::Nothing);
    }
    if argv.iter().any(|argument| argument.contains('\0')) {
        return Err(CommandError::Nul("an argument"));
    }
    let size = argv.iter().map(|argument| argument.len() + 1).sum();
    if size > MAX_ARGUMENT_BYTES {
        return Err(CommandError::ArgumentsTooLarge(size));
    }
    Ok(argv)
}

fn environment(
    image: &[String],
    overrides: &Overrides,
) -> Result<BTreeMap<String, String>, CommandError> {
    let mut env = BTreeMap::from([("PATH".to_owned(), DEFAULT_PATH.to_owned())]);
    for entry in image {
        match entry.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                env.insert(key.to_owned(), value.to_owned());
            }
            _ => return Err(CommandError::Environment(entry.clone())),
        }
    }
    for (key, value) in &overrides.env {
        if key.is_empty() || key.contains('=') {
            return Err(CommandError::Environment(format!("{key}={value}")));
        }
        env.insert(key.clone(), value.clone());
    }
    if env
        .iter()
        .any(|(key, value)| key.contains('\0') || value.contains('\0'))
    {
        return Err(CommandError::Nul("the environment"));
    }
    let size = env
        .iter()
        .map(|(key, value)| key.len() + value.len() + 2)
        .sum();
    if size > MAX_ENVIRONMENT_BYTES {
        return Err(CommandError::EnvironmentTooLarge(size));
    }
    Ok(env)
}

fn absolute(path: &str) -> String {
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    }
}

#[cfg(test)]
mod tests;
