//! Somebody else's reading of our `OpenAPI` document: schemathesis makes requests of it, sends them to a real server, and holds
//! the answers against what the document says.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::cargo::{cargo, root, run as run_command};
use crate::failure::Failure;

/// The version that is known to work; it comes from the Python package index.
const PACKAGE: &str = "schemathesis==4.32.5";
/// Sockets are not HTTP any more, a claim waits for work that never comes, and the others need what is deleted.
const LEFT_OUT: [&str; 5] = [
    "open_channel",
    "open_job_channel",
    "claim_job",
    "delete_project",
    "delete_organization",
];
/// Requests for each operation, where the caller does not say.
const EXAMPLES: &str = "20";

/// A name for each thing that a run makes, so that requests find something; and what is refused for good, with 501, is no
/// accident.
const CONFIG: &str = r#"parameters = { "path.project" = "exercised", "path.branch" = "main", "path.testbed" = "here", "path.benchmark" = "sort", "path.measure" = "latency", "path.organization" = "admin", "path.user" = "admin" }

[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]
"#;
/// What a run prints, so that there is a report with a number.
const RESULT: &str = r#"{"sort":{"latency":{"value":1}}}"#;

/// Every argument goes to schemathesis, behind our own.
pub(crate) fn run(arguments: &[String]) -> Result<(), Failure> {
    let program = find_or_install()?;
    run_command(&mut cargo(["build", "--workspace", "--all-targets"]))?;
    let directory = env::temp_dir().join(format!("kiln-schemathesis-{}", std::process::id()));
    let result = exercise(&program, &directory, arguments);
    // What is left of a failed run is not worth another error.
    let _ = fs::remove_dir_all(&directory);
    result
}

/// A server of its own, with nothing in it; stopped when dropped.
struct Server {
    child: Child,
    url: String,
    key: String,
}

impl Server {
    fn start(data: &Path) -> Result<Self, Failure> {
        let program = target().join("debug").join("kiln");
        let mut child = Command::new(&program)
            .args(["server", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .env("KILN_LOG", "error")
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| {
                Failure::failed(format!("cannot start {}: {error}", program.display()))
            })?;
        let line = child.stdout.take().and_then(|output| {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).ok()?;
            Some(line)
        });
        let mut server = Self {
            child,
            url: String::new(),
            key: String::new(),
        };
        let line = line.unwrap_or_default();
        let url = line.trim().strip_prefix("listening on ");
        url.ok_or_else(|| Failure::failed("the server does not listen"))?
            .clone_into(&mut server.url);
        let key = fs::read_to_string(data.join("admin.key"));
        key.map_err(|error| Failure::failed(format!("there is no admin key: {error}")))?
            .trim()
            .clone_into(&mut server.key);
        Ok(server)
    }

    /// Makes a project with a report.
    fn measure(&self) -> Result<(), Failure> {
        let mut command = Command::new(target().join("debug").join("kiln"));
        command
            .args(["run", "--host", &self.url, "--key", &self.key])
            .args(["--project", "exercised", "--branch", "main"])
            .args(["--testbed", "here", "--adapter", "json"])
            .args(["--threshold-measure", "latency"])
            .args(["--threshold-test", "percentage"])
            .args(["--threshold-upper-boundary", "0.1"])
            .arg(format!("echo '{RESULT}'"));
        run_command(&mut command)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It is gone already if these fail.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn exercise(program: &Path, directory: &Path, arguments: &[String]) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| {
        Failure::failed(format!("cannot make {}: {error}", directory.display()))
    })?;
    let config = directory.join("schemathesis.toml");
    fs::write(&config, CONFIG)
        .map_err(|error| Failure::failed(format!("cannot write {}: {error}", config.display())))?;
    let server = Server::start(&directory.join("data"))?;
    server.measure()?;
    let mut command = Command::new(program);
    command
        .args(["run", &format!("{}/v0/server/spec", server.url)])
        .args(["--header", &format!("Authorization: Bearer {}", server.key)])
        .args(["--phases", "examples,coverage,fuzzing"])
        .args(["--max-examples", EXAMPLES])
        // Some rules stand between fields, such as that a name must make a slug: no document can say them.
        .args(["--exclude-checks", "positive_data_acceptance"])
        // The registry has a specification of its own, and tests that follow it.
        .args(["--exclude-path-regex", "^/v2"])
        .current_dir(directory);
    for operation in LEFT_OUT {
        command.args(["--exclude-operation-id", operation]);
    }
    let status = command
        .args(arguments)
        .status()
        .map_err(|error| Failure::failed(format!("cannot run {}: {error}", program.display())))?;
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Err(Failure::Exited(code.unwrap_or(1)))
}

/// One that somebody installed, or our own below `target`.
fn find_or_install() -> Result<PathBuf, Failure> {
    let on_path = env::var_os("PATH").and_then(|path| {
        env::split_paths(&path)
            .map(|directory| directory.join("schemathesis"))
            .find(|program| program.is_file())
    });
    if let Some(program) = on_path {
        return Ok(program);
    }
    let home = target().join("schemathesis");
    let program = home.join("bin").join("schemathesis");
    if !program.is_file() {
        run_command(Command::new("python3").args(["-m", "venv"]).arg(&home))?;
        let pip = home.join("bin").join("pip");
        run_command(Command::new(pip).args(["install", "--quiet", PACKAGE]))?;
    }
    Ok(program)
}

fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}
