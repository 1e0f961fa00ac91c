//! Calling cargo from a program that cargo runs.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The top of the checkout.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this crate lies in a directory of the workspace")
}

/// A cargo that behaves as if it were called from a shell at the top of the checkout.
pub(crate) fn cargo<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    // Build scripts that look at these would run again, and rebuild what depends on them, whenever a developer changes between
    // `cargo test` and `cargo xtask test`.
    for (name, _) in env::vars_os() {
        if is_about_this_package(&name) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether cargo knows this subcommand.
pub(crate) fn has_subcommand(name: &str) -> bool {
    let mut command = cargo([name, "--version"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command to its end, with our terminal.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command
        .status()
        .map_err(|error| Failure::failed(format!("cannot run {}: {error}", show(command))))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{} ended with {status}",
        show(command)
    )))
}

/// The command as one would type it.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = [name].into_iter().chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    words.join(" ")
}

fn is_about_this_package(variable: &OsStr) -> bool {
    let variable = variable.to_string_lossy();
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["fmt", "--check"]);
        assert_eq!(show(&command), "cargo fmt --check");
    }

    #[test]
    fn what_cargo_says_about_this_package_is_not_passed_on() {
        let command = cargo(["build"]);
        let removed = |name: &str| {
            let mut variables = command.get_envs();
            variables.any(|(variable, value)| variable == name && value.is_none())
        };
        assert!(removed("CARGO_MANIFEST_DIR"));
        assert!(removed("CARGO_PKG_NAME"));
        assert!(!removed("CARGO_HOME"));
    }
}
