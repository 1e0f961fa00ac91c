//! Output that is no result, all the way from a real job: the report says what is wrong with it, and the job stays right.

use std::collections::BTreeMap;
use std::time::Duration;

use kiln_client::Client;
use kiln_e2e::{ServerProcess, Town, shell_image};
use kiln_model::Status;
use kiln_model::v0::{Adapter, Job, NewRun, NewRunJob, Report, Settings};
use serde_json::Value;

/// Runs a job that prints `text`, with escapes as of `printf`, and waits until its output has been read.
async fn printed(client: &Client, adapter: Adapter, text: &str) -> (Report, Job) {
    let run = NewRun {
        project: Some("test".to_owned()),
        settings: Some(Settings {
            adapter: Some(adapter),
            ..Settings::default()
        }),
        job: Some(NewRunJob {
            image: "test:print".to_owned(),
            timeout: Some(60),
            env: Some(BTreeMap::from([("TEXT".to_owned(), text.to_owned())])),
            ..NewRunJob::default()
        }),
        ..NewRun::default()
    };
    let submitted = client.submit_run(&run).await.unwrap();
    loop {
        let report = client.get_report("test", submitted.uuid).await.unwrap();
        if ["ready", "invalid", "failed"].contains(&report.status.as_deref().unwrap()) {
            let job = client.get_job("test", report.job.unwrap()).await.unwrap();
            return (report, job);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The job as a stock client sees it.
async fn as_stock(town: &Town, server: &ServerProcess, job: &Job) -> Value {
    let url = format!("{}/v0/projects/test/jobs/{}", server.url, job.uuid);
    let request = reqwest::Client::new()
        .get(url)
        .header("api-version", "0.6.12")
        .bearer_auth(town.admin_key());
    let answer = request.send().await.unwrap();
    serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_bad_output_is_named_and_leaves_its_job_completed() {
    let town = Town::new();
    let server = town.server(0, &[]);
    let client = town.client(&server);
    let _runner = town.runner(&server).await;
    let script = "printf \"$TEXT\"";
    let (url, key) = (&server.url, town.admin_key());
    shell_image(town.path(), url, &key, "test", "print", script).await;
    for (adapter, text, reason) in [
        (Adapter::Json, "", "the output is empty"),
        (
            Adapter::Json,
            r#"{"sort": {"latency": {"value": NaN}}}"#,
            "line 1, column 32: expected a finite number, found `NaN`",
        ),
        (
            Adapter::Json,
            r#"{"sort": {"latency": {"value": 1e999}}}"#,
            "number out of range",
        ),
        (
            Adapter::JavaJmh,
            r#"[{"benchmark": "sort", "primaryMetric": {"score": "NaN", "scoreUnit": "ns/op"}}]"#,
            "`value` is not a finite number",
        ),
        (
            Adapter::Json,
            r#"{"sort": {"latency": {"value": 1}}, "sort": {"latency": {"value": 2}}}"#,
            "\"sort\" occurs twice",
        ),
        (
            Adapter::Json,
            r#"{"so\377rt": {"latency": {"value": 1}}}"#,
            "the output was not UTF-8",
        ),
        (
            Adapter::Json,
            r#"{"sort": {"lat\377ency": {"value": 1}}}"#,
            "the measure name \"lat\u{fffd}ency\" holds U+FFFD",
        ),
        (Adapter::Magic, r"\377\376\000", "no adapter can read"),
    ] {
        let (report, job) = printed(&client, adapter, text).await;
        let error = report.error.unwrap_or_default();
        assert_eq!(report.status.as_deref(), Some("invalid"), "{text}: {error}");
        assert!(error.contains(reason), "{text}: {error}");
        assert_eq!(job.status, Status::Completed, "{text}");
        let stock = as_stock(&town, &server, &job).await;
        assert_eq!(stock["status"], "failed", "{text}");
        assert_eq!(stock["output"]["error"], error, "{text}");
    }
    let good = r#"{"sort": {"latency": {"value": 1}}}"#;
    let (report, job) = printed(&client, Adapter::Json, good).await;
    assert_eq!(report.status.as_deref(), Some("ready"));
    assert_eq!(job.status, Status::Processed);
}
