//! The `kiln` program as a process of its own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

/// The program under test, beside the tests that cargo built.
pub fn program() -> PathBuf {
    let here = std::env::current_exe().expect("a test knows its own path");
    let profile = here
        .ancestors()
        .find(|directory| {
            directory.join("deps").is_dir() && directory.join(".fingerprint").is_dir()
        })
        .expect("tests lie in cargo's target directory");
    let program = profile.join("kiln");
    assert!(
        program.is_file(),
        "{} is not there: run `cargo build` first",
        program.display()
    );
    program
}

/// How a process ended and what it said.
#[derive(Debug)]
pub struct Exited {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// Runs the program to its end.
pub fn kiln(arguments: &[&str], stdin: &str) -> Exited {
    kiln_with(arguments, stdin, &[])
}

/// The same, with these variables in its environment.
pub fn kiln_with(arguments: &[&str], stdin: &str, variables: &[(&str, &str)]) -> Exited {
    use std::io::Write as _;
    let mut child = command(arguments)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("stdin is piped");
    // A program that does not read its input may be gone already.
    let _ = input.write_all(stdin.as_bytes());
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    Exited {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// A program that keeps running; killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts it with its log in a file.
    pub fn start(arguments: &[&str], log: &Path) -> Self {
        Self::spawn(command(arguments), log)
    }

    /// The same, with a directory of its own for temporary files.
    pub fn start_in(arguments: &[&str], log: &Path, temporary: &Path) -> Self {
        let mut command = command(arguments);
        command.env("TMPDIR", temporary);
        Self::spawn(command, log)
    }

    /// Starts another program than the one under test with its log in a file.
    pub fn start_program(program: &Path, arguments: &[&str], log: &Path) -> Self {
        Self::spawn(command_of(program, arguments), log)
    }

    fn spawn(mut command: Command, log: &Path) -> Self {
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(log)
            .expect("a log file");
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("the program starts");
        Self { child }
    }

    /// The first line it prints; `None` when it ended without one.
    pub fn first_line(&mut self) -> Option<String> {
        let stdout = self.child.stdout.take()?;
        let mut line = String::new();
        let mut reader = BufReader::new(stdout);
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        // Nobody else reads it; the rest must not fill the pipe.
        std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = reader.read_to_end(&mut rest);
        });
        Some(line.trim().to_owned())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        let id = i32::try_from(self.child.id()).ok();
        id.and_then(Pid::from_raw).expect("a pid")
    }

    pub fn signal(&self, signal: Signal) {
        // It may have ended by itself.
        let _ = kill_process(self.pid(), signal);
    }

    /// Whether it has ended by itself, for whoever would wait in vain for what it does.
    pub fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), look)
            .expect("a child can be waited for")
            .is_some()
    }

    /// Waits for its end; the exit code, or `None` when a signal ended it.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("a child can be waited for").code()
    }

    pub fn kill(mut self) {
        self.signal(Signal::KILL);
        self.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.child.wait();
    }
}

fn command(arguments: &[&str]) -> Command {
    command_of(&program(), arguments)
}

/// A program with none of the user's own settings.
fn command_of(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    for (name, _) in std::env::vars() {
        let settings = ["KILN_", "BENCHER_", "GITHUB_", "GITLAB_", "CI_"];
        if name == "CI" || settings.iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    command
}
