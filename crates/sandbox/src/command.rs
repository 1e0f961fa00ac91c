//! What to run, and how much of everything it may use.

use std::time::Duration;

use kiln_guest_init::protocol::{FileRequest, Start, Uplink};

use crate::{Error, Resource, ResourceBound};

/// A command inside a chamber. Names are already resolved to numbers, and the environment is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. A program without a slash is looked up in `PATH` of `env`.
    pub args: Vec<String>,
    pub env: Vec<(String, String)>,
    /// Made if it is missing.
    pub cwd: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    /// Files to bring back after the end, as paths in the chamber.
    pub files: Vec<String>,
}

impl Command {
    /// A command of user 0 in `/` with an empty environment.
    pub fn new(args: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
            cwd: "/".to_owned(),
            uid: 0,
            gid: 0,
            groups: Vec::new(),
            files: Vec::new(),
        }
    }
}

/// What bounds one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// From the command's start; `None` waits for ever.
    pub timeout: Option<Duration>,
    /// Between asking (SIGTERM) and forcing (SIGKILL).
    pub grace: Duration,
    pub stdout_bytes: u64,
    pub stderr_bytes: u64,
    pub files: FileLimit,
    /// Clamped to the host's hard limits; a clamped one shows as a missing layer.
    pub resources: Vec<ResourceBound>,
}

/// What bounds the collected files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileLimit {
    /// Of each file; the rest is cut off and marked.
    pub bytes: u64,
    /// Of all files together: with more, the largest are cut off and marked until they fit.
    pub total_bytes: u64,
    pub count: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            timeout: None,
            grace: Duration::from_secs(5),
            stdout_bytes: 16 << 20,
            stderr_bytes: 16 << 20,
            files: FileLimit {
                bytes: 64 << 20,
                total_bytes: 64 << 20,
                count: 64,
            },
            resources: Vec::new(),
        }
    }
}

/// What Linux passes to a program at most; half of what a message to the guest may hold.
const MAX_BYTES: usize = 2 << 20;

/// What Linux takes for "leave it as it is".
const NO_ID: u32 = u32::MAX;

/// Where the command's program may be, as paths in its root.
pub(crate) fn programs(command: &Command) -> Vec<String> {
    let start = Start {
        args: command.args.clone(),
        env: command.env.clone(),
        ..Start::default()
    };
    start.programs()
}

/// The command as the guest wants it, or what is wrong with it.
///
/// `processes` becomes a per-user limit of its own: on hosts without the pids controller it is the only fence.
pub(crate) fn start_message(
    command: &Command,
    limits: &Limits,
    processes: u32,
) -> Result<Start, Error> {
    check(command, limits)?;
    let defaults = [
        ResourceBound::new(Resource::Processes, u64::from(processes)),
        ResourceBound::new(Resource::CoreBytes, 0),
    ];
    let asked = |bound: &ResourceBound| {
        let mut asked = limits.resources.iter();
        asked.any(|other| other.resource == bound.resource)
    };
    let resources = defaults
        .into_iter()
        .filter(|bound| !asked(bound))
        .chain(limits.resources.iter().copied())
        .map(ResourceBound::message);
    let start = Start {
        args: command.args.clone(),
        env: command.env.clone(),
        cwd: command.cwd.clone(),
        uid: command.uid,
        gid: command.gid,
        groups: command.groups.clone(),
        limits: resources.collect(),
        stdout_bytes: limits.stdout_bytes,
        stderr_bytes: limits.stderr_bytes,
        files: command
            .files
            .iter()
            .map(|path| FileRequest {
                path: path.clone(),
                max_bytes: limits.files.bytes,
            })
            .collect(),
        files_bytes: limits.files.total_bytes,
        // Only a machine is connected from within.
        uplink: Uplink::None,
    };
    check_length(&start)?;
    Ok(start)
}

/// The kernel would refuse it too, but only after the guest has taken it in.
fn check_length(start: &Start) -> Result<(), Error> {
    let variables = start.env.iter().flat_map(|(name, value)| [name, value]);
    let bytes: usize = start.args.iter().chain(variables).map(String::len).sum();
    if bytes > MAX_BYTES {
        return Err(Error::Command {
            reason: "its arguments and variables are longer than 2 MiB".to_owned(),
        });
    }
    Ok(())
}

fn check(command: &Command, limits: &Limits) -> Result<(), Error> {
    let refuse = |reason: &str| {
        Err(Error::Command {
            reason: reason.to_owned(),
        })
    };
    if command.args.first().is_none_or(String::is_empty) {
        return refuse("there is no program to run");
    }
    let variables = command.env.iter().flat_map(|(name, value)| [name, value]);
    let mut texts = command
        .args
        .iter()
        .chain(variables)
        .chain(&command.files)
        .chain([&command.cwd]);
    if texts.any(|text| text.contains('\0')) {
        return refuse("an argument, variable or path contains a zero byte");
    }
    if command
        .env
        .iter()
        .any(|(name, _)| name.is_empty() || name.contains('='))
    {
        return refuse("the name of a variable is empty or contains an equals sign");
    }
    if !command.cwd.starts_with('/') {
        return refuse("the working directory is not an absolute path");
    }
    let mut ids = [command.uid, command.gid]
        .into_iter()
        .chain(command.groups.iter().copied());
    if ids.any(|id| id == NO_ID) {
        return refuse("4294967295 is no user or group: it stands for none");
    }
    if command.files.len() > limits.files.count {
        return refuse("more files are asked for than may be collected");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(command: &Command) -> String {
        start_message(command, &Limits::default(), 10)
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_command_without_a_program_is_refused() {
        assert!(refusal(&Command::new(Vec::<String>::new())).contains("no program"));
        assert!(refusal(&Command::new([""])).contains("no program"));
    }

    #[test]
    fn zero_bytes_are_refused_wherever_they_hide() {
        for change in [
            (|command| command.args.push("a\0b".into())) as fn(&mut Command),
            |command| command.env.push(("A".into(), "\0".into())),
            |command| command.cwd = "/\0".into(),
            |command| command.files.push("/\0".into()),
        ] {
            let mut command = Command::new(["true"]);
            change(&mut command);
            assert!(refusal(&command).contains("zero byte"), "{command:?}");
        }
    }

    #[test]
    fn a_variable_that_would_change_another_ones_name_is_refused() {
        let mut command = Command::new(["true"]);
        command.env.push(("A=B".into(), String::new()));
        assert!(refusal(&command).contains("equals sign"));
    }

    #[test]
    fn a_relative_working_directory_is_refused() {
        let mut command = Command::new(["true"]);
        command.cwd = "work".into();
        assert!(refusal(&command).contains("absolute"));
    }

    #[test]
    fn an_id_that_stands_for_none_is_refused() {
        for change in [
            (|command| command.uid = u32::MAX) as fn(&mut Command),
            |command| command.gid = u32::MAX,
            |command| command.groups.push(u32::MAX),
        ] {
            let mut command = Command::new(["true"]);
            change(&mut command);
            assert!(refusal(&command).contains("stands for none"), "{command:?}");
        }
    }

    #[test]
    fn an_environment_no_program_could_take_is_refused() {
        let mut command = Command::new(["true"]);
        command.env.push(("BIG".into(), "x".repeat(MAX_BYTES)));
        assert!(refusal(&command).contains("longer"));
    }

    #[test]
    fn an_asked_for_resource_replaces_its_default() {
        let limits = Limits {
            resources: vec![ResourceBound::new(Resource::CoreBytes, 7)],
            ..Limits::default()
        };
        let start = start_message(&Command::new(["true"]), &limits, 10).unwrap();
        let bounds = [(Resource::Processes, 10), (Resource::CoreBytes, 7)];
        let wanted = bounds.map(|(resource, value)| ResourceBound::new(resource, value).message());
        assert_eq!(start.limits, wanted);
    }
}
