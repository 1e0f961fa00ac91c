//! `kiln server` as people and scripts start it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use kiln_e2e::{Town, kiln, shell_image};
use kiln_model::Status;
use rustix::process::Signal;

const BMF: &str = r#"echo '{"echo": {"latency": {"value": 1.5}}}'"#;

#[test]
fn it_tells_where_it_listens_and_ends_cleanly() {
    let town = Town::new();
    let mut server = town.server(0, &[]);
    let address = fs::read_to_string(town.data().join("address")).unwrap();
    assert_eq!(format!("http://{}", address.trim()), server.url);
    let mode = fs::metadata(town.data().join("admin.key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(town.admin_key().starts_with("bencher_user_"));
    server.process.signal(Signal::TERM);
    assert_eq!(server.process.wait(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_survives_a_restart_of_the_server_and_ends_processed() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let port: u16 = server.url.rsplit_once(':').unwrap().1.parse().unwrap();
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", BMF).await;
    let runner = town.runner(&server).await;
    runner.process.kill();
    let job = Town::submit(&town.client(&server), "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    server.process.kill();

    let server = town.server(port, &[]);
    let _runner = town.runner_again(&server);
    let client = town.client(&server);
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed);
    let output = ended.output.unwrap();
    assert_eq!(output.results[0].exit_code, 0);
    let isolation = output.conditions.unwrap().isolation;
    assert_eq!(isolation.as_deref(), Some("namespace"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minute_is_billed_though_the_server_is_killed_before_it_is_told() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let port: u16 = server.url.rsplit_once(':').unwrap().1.parse().unwrap();
    let key = town.admin_key();
    shell_image(town.path(), &server.url, &key, "test", "latest", BMF).await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let submitted = Town::submit(&client, "test:latest").await.unwrap();
    let job = submitted.job.unwrap();
    assert_eq!(Town::ended(&client, job).await.status, Status::Processed);
    server.process.kill();

    let _server = town.server(port, &[]);
    let file = town.data().join("billing.jsonl");
    let lines = loop {
        let lines = fs::read_to_string(&file).unwrap_or_default();
        if lines.ends_with('\n') {
            break lines;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    let line: serde_json::Value = serde_json::from_str(&lines).unwrap();
    assert_eq!(line["idempotency_key"], format!("{job}:1"));
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_parsed_is_told_in_the_report() {
    let town = Town::new();
    let server = town.server(0, &[]);
    shell_image(
        town.path(),
        &server.url,
        &town.admin_key(),
        "test",
        "latest",
        "echo nonsense",
    )
    .await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let submitted = Town::submit(&client, "test:latest").await.unwrap();
    let report = loop {
        let report = client.get_report("test", submitted.uuid).await.unwrap();
        if report.status.as_deref() == Some("invalid") {
            break report;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    };
    assert!(
        report.error.unwrap().contains("json"),
        "the reason names the adapter"
    );
    let job = client
        .get_job("test", submitted.job.unwrap())
        .await
        .unwrap();
    assert_eq!(job.status, Status::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_is_canceled_at_once() {
    let town = Town::new();
    let server = town.server(0, &[]);
    shell_image(
        town.path(),
        &server.url,
        &town.admin_key(),
        "test",
        "latest",
        "sleep 1000",
    )
    .await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let job = Town::submit(&client, "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    while client.get_job("test", job).await.unwrap().status != Status::Running {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    client.cancel_job("test", job).await.unwrap();
    assert_eq!(Town::ended(&client, job).await.status, Status::Canceled);
    // The runner is free again: the next job runs.
    shell_image(
        town.path(),
        &server.url,
        &town.admin_key(),
        "test",
        "next",
        BMF,
    )
    .await;
    let next = Town::submit(&client, "test:next")
        .await
        .unwrap()
        .job
        .unwrap();
    assert_eq!(Town::ended(&client, next).await.status, Status::Processed);
}

#[test]
fn another_admin_key_comes_from_the_running_server_or_from_the_store() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let data = town.data();
    let arguments = ["admin", "key", "--data", data.to_str().unwrap()];
    let running = kiln(&arguments, "");
    assert_eq!(running.code, Some(0), "{}", running.stderr);
    server.process.kill();
    let stopped = kiln(&arguments, "");
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert_ne!(running.stdout, stopped.stdout);
}
