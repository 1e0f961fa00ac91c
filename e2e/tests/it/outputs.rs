//! Output that does not fit into one message.

use std::path::{Path, PathBuf};

use kiln_e2e::{Town, shell_image};
use kiln_model::Status;
use reqwest::header::{AUTHORIZATION, RANGE};

use crate::leftovers::walk;

/// A result, and then so many lines of 64 bytes.
fn script(lines: u32) -> String {
    format!(
        r#"echo '{{"echo": {{"latency": {{"value": 1.5}}}}}}'; yes '{}' | head -n {lines}"#,
        " ".repeat(63)
    )
}

fn whole(lines: usize) -> String {
    let line = format!("{}\n", " ".repeat(63));
    format!(
        "{{\"echo\": {{\"latency\": {{\"value\": 1.5}}}}}}\n{}",
        line.repeat(lines)
    )
}

async fn stdout_of(town: &Town, url: &str, job: impl std::fmt::Display, range: &str) -> String {
    let url = format!("{url}/v0/projects/test/jobs/{job}/output/0/stdout");
    let answer = reqwest::Client::new()
        .get(url)
        .header(AUTHORIZATION, format!("Bearer {}", town.admin_key()))
        .header(RANGE, range)
        .send()
        .await
        .unwrap();
    assert_eq!(answer.status().as_u16(), 206);
    answer.text().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn output_larger_than_a_message_arrives_whole_and_is_read() {
    const LINES: u32 = 100_000;
    let town = Town::new();
    let server = town.server(0, &[]);
    let key = town.admin_key();
    shell_image(
        town.path(),
        &server.url,
        &key,
        "test",
        "latest",
        &script(LINES),
    )
    .await;
    let _runner = town.runner(&server).await;
    let client = town.client(&server);
    let job = Town::submit(&client, "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed, "{:?}", ended.error);
    let output = ended.output.unwrap();
    let shown = output.results[0].stdout.as_deref().unwrap();
    assert!(
        shown.contains("[kiln: cut off after"),
        "the answer is bounded"
    );
    let found = stdout_of(&town, &server.url, job, "bytes=0-").await;
    assert!(found == whole(LINES as usize), "{} bytes came", found.len());
    assert_eq!(
        stdout_of(&town, &server.url, job, "bytes=0-5").await,
        "{\"echo"
    );
    assert_eq!(pieces(&town.data()), Vec::<PathBuf>::new());
    let spool = town.path().join("runner").join("spool");
    assert_eq!(std::fs::read_dir(spool).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_runner_that_is_killed_in_the_middle_of_an_upload_goes_on() {
    const LINES: u32 = 300_000;
    let town = Town::new();
    let server = town.server(0, &[]);
    let key = town.admin_key();
    shell_image(
        town.path(),
        &server.url,
        &key,
        "test",
        "latest",
        &script(LINES),
    )
    .await;
    let runner = town.runner(&server).await;
    let client = town.client(&server);
    let job = Town::submit(&client, "test:latest")
        .await
        .unwrap()
        .job
        .unwrap();
    while pieces(&town.data()).is_empty() {
        tokio::task::yield_now().await;
    }
    runner.process.kill();
    let large = town
        .path()
        .join("runner")
        .join("spool")
        .join(format!("{job}.large"));
    assert!(large.is_file(), "the output is on the runner's disk");
    let _runner = town.runner_again(&server);
    let ended = Town::ended(&client, job).await;
    assert_eq!(ended.status, Status::Processed, "{:?}", ended.error);
    let found = stdout_of(&town, &server.url, job, "bytes=0-").await;
    assert!(found == whole(LINES as usize), "{} bytes came", found.len());
}

/// The chunks of uploads that are under way.
fn pieces(data: &Path) -> Vec<PathBuf> {
    let objects = walk(&data.join("objects")).into_iter();
    let is_piece = |path: &PathBuf| path.is_file() && path.to_string_lossy().contains("/pieces/");
    objects.filter(is_piece).collect()
}
