//! `ip` and `nft`, as every distribution has them.

use std::io::{self, Write as _};
use std::process::{Command, Output, Stdio};

use crate::Error;

/// Runs `ip` with these words.
pub(super) fn ip(words: &str) -> Result<(), Error> {
    let mut command = Command::new("ip");
    command.args(words.split(' '));
    run(&mut command, "").map(drop)
}

/// Runs `ip` in the network namespace of a process.
pub(super) fn ip_in_namespace(pid: &str, words: &str) -> Result<(), Error> {
    let mut command = Command::new("nsenter");
    command.args(["-t", pid, "-n", "ip"]).args(words.split(' '));
    run(&mut command, "").map(drop)
}

/// Applies a set of rules, all or none.
pub(super) fn nft(rules: &str) -> Result<(), Error> {
    let mut command = Command::new("nft");
    command.args(["-f", "-"]);
    run(&mut command, rules).map(drop)
}

/// What a program says.
pub(super) fn output_of(program: &str, words: &str) -> Result<String, Error> {
    let mut command = Command::new(program);
    command.args(words.split(' '));
    run(&mut command, "").map(|output| String::from_utf8_lossy(&output.stdout).into_owned())
}

fn run(command: &mut Command, input: &str) -> Result<Output, Error> {
    let shown = format!("{command:?}");
    let failed = |error: io::Error| {
        let hint = if error.kind() == io::ErrorKind::NotFound {
            " (install iproute2, nftables and util-linux)"
        } else {
            ""
        };
        Error::host(format!("cannot run {shown}{hint}"), error)
    };
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A program that does not read its input says by its status what it made of that.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(output);
    }
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    Err(Error::host(
        format!("{shown} failed"),
        io::Error::other(said),
    ))
}
