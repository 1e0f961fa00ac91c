//! What a job writes can be read while it runs.

use std::fs;

use kiln_client::Page;
use kiln_e2e::{Process, Town, shell_image};
use kiln_model::Status;

/// Longer than the test needs, and shorter than the job's timeout.
const SCRIPT: &str = "echo first; sleep 50; echo never";

#[tokio::test(flavor = "multi_thread")]
async fn the_logs_of_a_running_job_are_followed_and_kept_when_it_is_canceled() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", SCRIPT).await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let job = Town::submit(&client, "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    let uuid = job.to_string();
    let words = [
        "job",
        "logs",
        &uuid,
        "--follow",
        "--project",
        "test",
        "--host",
        &server.url,
        "--key",
        &key,
    ];
    let mut logs = Process::start(&words, &town.log());
    assert_eq!(logs.first_line().as_deref(), Some("first"));
    assert_eq!(
        client.get_job("test", job).await.unwrap().status,
        Status::Running
    );
    client.cancel_job("test", job).await.unwrap();
    assert_eq!(logs.wait(), Some(11), "canceled");
    let output = client.get_job("test", job).await.unwrap().output.unwrap();
    assert_eq!(output.results[0].stdout.as_deref(), Some("first\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_shows_what_its_job_writes_while_it_runs() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", SCRIPT).await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let words = [
        "run",
        "--project",
        "test",
        "--host",
        &server.url,
        "--key",
        &key,
        "--image",
        "test:latest",
    ];
    let said = town.path().join("said");
    let mut run = Process::start(&words, &said);
    let text = || fs::read_to_string(&said).unwrap_or_default();
    while !text().contains("\nfirst\n") {
        tokio::task::yield_now().await;
    }
    let running = client.list_jobs("test", Some(Status::Running), Page::default());
    let running = running.await.unwrap();
    assert_eq!(running.len(), 1, "{running:?}");
    client.cancel_job("test", running[0].uuid).await.unwrap();
    assert_eq!(run.wait(), Some(11), "{}", text());
    assert_eq!(text().matches("first").count(), 1, "{}", text());
}
