//! A runner that is asked to stop while it holds a job.

use std::fs;

use kiln_e2e::{RunnerProcess, ServerProcess, Town, shell_image};
use kiln_model::{JobUuid, Status};
use rustix::process::Signal;

/// A runner in the middle of a job of this script.
pub(crate) async fn busy(town: &Town, script: &str) -> (ServerProcess, RunnerProcess, JobUuid) {
    let server = town.server(0, &[]);
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", script).await;
    let runner = town.runner(&server).await;
    let client = town.client(&server);
    let report = Town::submit(&client, "test:latest").await.unwrap();
    let job = report.job.unwrap();
    while client.get_job("test", job).await.unwrap().status != Status::Running {
        tokio::task::yield_now().await;
    }
    (server, runner, job)
}

/// Asks it to stop, and waits until it says that it finishes what it holds.
fn drain(town: &Town, runner: &RunnerProcess) {
    runner.process.signal(Signal::TERM);
    let says = |log: String| log.contains("Finishing what is held");
    while !fs::read_to_string(town.log()).is_ok_and(says) {
        assert!(!runner.process.has_ended(), "the runner ended at once");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_asked_once_finishes_its_job_and_takes_no_other() {
    let town = Town::new();
    let script = r#"sleep 2; echo '{"echo": {"latency": {"value": 1.5}}}'"#;
    let (server, mut runner, job) = busy(&town, script).await;
    drain(&town, &runner);
    let client = town.client(&server);
    let next = Town::submit(&client, "test:latest").await.unwrap();
    let code = tokio::task::spawn_blocking(move || runner.process.wait());
    assert_eq!(code.await.unwrap(), Some(0));
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed);
    let next = client.get_job("test", next.job.unwrap()).await.unwrap();
    assert_eq!(next.status, Status::Pending);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_asked_twice_stops_its_job_and_says_so() {
    let town = Town::new();
    let (server, mut runner, job) = busy(&town, "echo begun; sleep 1000").await;
    drain(&town, &runner);
    let client = town.client(&server);
    let still = client.get_job("test", job).await.unwrap();
    assert_eq!(still.status, Status::Running);
    runner.process.signal(Signal::TERM);
    let code = tokio::task::spawn_blocking(move || runner.process.wait());
    assert_eq!(code.await.unwrap(), Some(0));
    // It has been delivered before the runner ended: nobody waits for a heartbeat to be missed.
    let ended = client.get_job("test", job).await.unwrap();
    assert_eq!(ended.status, Status::Failed, "{ended:?}");
    let output = ended.output.unwrap();
    let error = output.error.unwrap_or_default();
    assert!(error.contains("stopped"), "{error}");
}
