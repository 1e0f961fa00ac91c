//! Recorded exchanges, replayed frame by frame: the server's side as recorded, ours compared with the recorded one.

use serde_json::Value;

use super::support::{Bench, Channel, execution};
use crate::{Captured, Iteration, Verdict};

async fn replay(recorded: &str) -> Bench {
    let rows: Vec<Value> = serde_json::from_str(recorded).unwrap();
    let bench = Bench::started().await;
    let mut channel: Option<Channel> = None;
    let mut upcoming = rows.iter();
    while let Some(row) = upcoming.next() {
        if row.get("connect").is_some() {
            // What comes first on a later channel was made while there was none.
            if let Some(next) = upcoming.clone().next() {
                provoke_in_advance(&bench, &next["runner"]);
            }
            channel = Some(bench.connected().await);
        } else if row.get("cut").is_some() {
            channel = None;
        } else if let Some(message) = row.get("server") {
            channel.as_mut().unwrap().send(message).await;
        } else {
            provoke(&bench, &row["runner"]);
            let said = channel.as_mut().unwrap().message().await;
            check(&said, &row["runner"]);
        }
    }
    bench
}

fn provoke_in_advance(bench: &Bench, expected: &Value) {
    if expected["event"] == "completed" {
        bench.execute(execution(Verdict::Completed, iterations(expected)));
    }
}

/// Lets happen what makes a runner say this.
fn provoke(bench: &Bench, expected: &Value) {
    match expected["event"].as_str().unwrap() {
        "running" => bench.set_up(),
        // A second `ready` comes a second after the first at the earliest.
        "heartbeat" | "ready" => bench.beat(),
        "completed" => bench.execute(execution(Verdict::Completed, iterations(expected))),
        "canceled" => {}
        other => panic!("nothing makes a runner say {other}"),
    }
}

fn iterations(expected: &Value) -> Vec<Iteration> {
    let text = |value: &Value| Captured::from(value.as_str().unwrap_or_default());
    let results = expected["results"].as_array().unwrap();
    let iteration = |result: &Value| Iteration {
        exit_code: result["exit_code"].as_i64().unwrap().try_into().unwrap(),
        stdout: text(&result["stdout"]),
        stderr: text(&result["stderr"]),
        files: None,
    };
    results.iter().map(iteration).collect()
}

fn check(said: &Value, expected: &Value) {
    assert_eq!(said["event"], expected["event"], "{said}");
    assert_eq!(said["job"], expected["job"], "{said}");
    if let Some(results) = expected["results"].as_array() {
        let said = said["results"].as_array().unwrap();
        assert_eq!(said.len(), results.len());
        for (said, result) in said.iter().zip(results) {
            assert_eq!(said["exit_code"], result["exit_code"]);
            for stream in ["stdout", "stderr"] {
                assert_eq!(said[stream], result[stream].as_str().unwrap_or_default());
            }
        }
    }
}

#[tokio::test]
async fn the_happy_path_goes_as_recorded() {
    let bench = replay(include_str!("../../../../fixtures/channel/happy.json")).await;
    assert_eq!(bench.spooled(), 0);
    assert!(!bench.is_held());
}

#[tokio::test]
async fn without_a_job_the_runner_asks_again_as_recorded() {
    replay(include_str!("../../../../fixtures/channel/no_job.json")).await;
}

#[tokio::test]
async fn a_cancel_in_place_of_an_acknowledgement_goes_as_recorded() {
    let bench = replay(include_str!("../../../../fixtures/channel/cancel.json")).await;
    assert_eq!(bench.spooled(), 0);
}

#[tokio::test]
async fn a_result_made_while_disconnected_is_sent_first_as_recorded() {
    let bench = replay(include_str!(
        "../../../../fixtures/channel/reconnect_resend.json"
    ))
    .await;
    assert_eq!(bench.spooled(), 0);
}
