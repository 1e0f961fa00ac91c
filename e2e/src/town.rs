//! A server and a runner as processes, in a directory of their own.

use std::fs;
use std::path::{Path, PathBuf};

use kiln_client::Client;
use kiln_model::JobUuid;
use kiln_model::v0::{
    Architecture, Job, NewRun, NewRunJob, NewRunner, NewSpec, OperatingSystem, Report,
};
use tempfile::TempDir;

use crate::Process;

/// The directory of one test.
#[derive(Debug)]
pub struct Town {
    directory: TempDir,
}

/// A server that listens.
#[derive(Debug)]
pub struct ServerProcess {
    pub process: Process,
    pub url: String,
}

/// A runner that executes its jobs.
#[derive(Debug)]
pub struct RunnerProcess {
    pub process: Process,
}

impl Default for Town {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Town {
    /// A test that fails shows what the processes said.
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            let tail = log.lines().rev().take(40).collect::<Vec<_>>();
            for line in tail.iter().rev() {
                show(line);
            }
        }
    }
}

#[expect(clippy::print_stderr, reason = "for whoever reads a failed test")]
fn show(line: &str) {
    eprintln!("{line}");
}

impl Town {
    pub fn new() -> Self {
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Self {
            directory: tempfile::Builder::new()
                .prefix("kiln-e2e-")
                .tempdir()
                .expect("a directory"),
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    pub fn log(&self) -> PathBuf {
        self.path().join("log")
    }

    /// Starts a server on a port, 0 for a free one, and waits until it listens.
    pub fn server(&self, port: u16, more: &[&str]) -> ServerProcess {
        let listen = format!("127.0.0.1:{port}");
        let data = self.data();
        let mut arguments = vec![
            "server",
            "--listen",
            &listen,
            "--data",
            data.to_str().expect("UTF-8"),
        ];
        arguments.extend(more);
        let mut process = Process::start(&arguments, &self.log());
        let line = process.first_line().unwrap_or_else(|| {
            panic!(
                "the server did not start: {}",
                fs::read_to_string(self.log()).unwrap_or_default()
            )
        });
        let url = line
            .strip_prefix("listening on ")
            .expect("it says where")
            .to_owned();
        ServerProcess { process, url }
    }

    pub fn admin_key(&self) -> String {
        fs::read_to_string(self.data().join("admin.key"))
            .expect("the first admin key")
            .trim()
            .to_owned()
    }

    pub fn client(&self, server: &ServerProcess) -> Client {
        Client::new(&server.url, Some(&self.admin_key())).expect("a client")
    }

    /// Makes a spec and a runner, and starts it.
    pub async fn runner(&self, server: &ServerProcess) -> RunnerProcess {
        let client = self.client(server);
        let spec = NewSpec {
            name: "test".parse().expect("a name"),
            slug: None,
            os: OperatingSystem::Linux,
            architecture: Architecture::X86_64,
            sandbox: None,
            cpu: 1,
            memory: 256 << 20,
            disk: 64 << 20,
            network: false,
            shared: false,
            isolation: None,
            fallback: true,
        };
        client.create_spec(&spec).await.expect("a spec");
        let new = NewRunner {
            name: "test".parse().expect("a name"),
            slug: None,
        };
        let key = client.create_runner(&new).await.expect("a runner").key;
        client.link_spec("test", "test").await.expect("a link");
        fs::write(self.path().join("runner.key"), &key).expect("our own directory");
        self.runner_again(server)
    }

    /// Starts the runner once more, with the key it was given.
    pub fn runner_again(&self, server: &ServerProcess) -> RunnerProcess {
        self.runner_with(server, &[])
    }

    /// The same, with more flags.
    pub fn runner_with(&self, server: &ServerProcess, more: &[&str]) -> RunnerProcess {
        let key = fs::read_to_string(self.path().join("runner.key")).expect("the runner's key");
        let data = self.path().join("runner");
        let mut arguments = vec![
            "runner",
            "up",
            "--host",
            &server.url,
            "--runner",
            "test",
            "--key",
            &key,
            "--runner-data",
            data.to_str().expect("UTF-8"),
        ];
        arguments.extend(more);
        RunnerProcess {
            process: Process::start(&arguments, &self.log()),
        }
    }

    /// Submits a run of an image of project `test`.
    pub async fn submit(client: &Client, image: &str) -> Result<Report, kiln_client::Error> {
        let run = NewRun {
            project: Some("test".to_owned()),
            job: Some(NewRunJob {
                image: image.to_owned(),
                timeout: Some(60),
                ..NewRunJob::default()
            }),
            ..NewRun::default()
        };
        client.submit_run(&run).await
    }

    /// Waits until a job has ended and, when it completed, was processed or could not be.
    pub async fn ended(client: &Client, job: JobUuid) -> Job {
        loop {
            let found = client.get_job("test", job).await.expect("the job is there");
            let is_put_to_use =
                found.status != kiln_model::Status::Completed || found.error.is_some();
            if found.status.is_ended() && is_put_to_use {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}
