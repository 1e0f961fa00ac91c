//! The older transport: a claim by long poll, and a socket for each job.

use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;

use crate::live::{next_piece, tell};
use crate::outputs::Upload;
use crate::town::{Answer, BMF, Channel, Place, Town, text};
use crate::towns::on_both_engines;

on_both_engines!(
    a_claimed_job_runs_on_its_own_socket,
    a_claim_waits_for_a_job,
    a_claim_without_a_job_is_null,
    a_claim_that_was_not_heard_is_answered_again,
    a_failure_is_flat_too,
    what_a_job_writes_on_its_own_socket_is_live_and_kept,
    a_flat_result_may_name_what_was_uploaded_beside_it,
    a_cancel_is_pushed_to_the_socket,
    only_live_jobs_of_this_runner_have_a_socket,
    a_pull_token_is_renewed_while_the_lease_lives,
    a_claim_needs_the_key_of_the_runner_in_the_path,
);

fn acknowledged() -> Value {
    json!({"event": "ack"})
}

async fn claim(town: &Town, place: &Place, seconds: u32) -> Answer {
    let path = format!("/v0/runners/{}/jobs", place.runner);
    let body = json!({ "poll_timeout": seconds });
    town.send(Method::POST, &path, Some(&place.key), Some(body))
        .await
}

async fn open(town: &Town, place: &Place, job: &str) -> Result<Channel, Error> {
    let path = format!("/v0/runners/{}/jobs/{job}", place.runner);
    town.dial(&path, &place.key).await
}

/// A job that runs on its own socket.
async fn running(town: &Town, place: &Place) -> (Channel, String) {
    town.submit(place, json!({})).await;
    let claimed = claim(town, place, 30).await;
    let job = text(&claimed.body["uuid"]);
    let mut socket = open(town, place, &job).await.unwrap();
    socket.say(json!({"event": "running"})).await;
    assert_eq!(socket.hear().await, acknowledged());
    (socket, job)
}

async fn a_claimed_job_runs_on_its_own_socket(town: &Town) {
    let place = town.place().await;
    let (mut socket, job) = running(town, &place).await;
    socket.say(json!({"event": "heartbeat"})).await;
    assert_eq!(socket.hear().await, acknowledged());
    socket
        .say(json!({"event": "completed", "exit_code": 0, "stdout": BMF}))
        .await;
    assert_eq!(socket.hear().await, acknowledged());
    town.until(&place, &job, "process").await;
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["output"]["results"][0]["stdout"], BMF);
}

async fn a_claim_waits_for_a_job(town: &Town) {
    let place = town.place().await;
    let (claimed, job) = tokio::join!(claim(town, &place, 600), town.submit(&place, json!({})));
    assert_eq!(claimed.status, 200);
    assert_eq!(claimed.body["uuid"], job.as_str());
    assert!(claimed.body["oci_token"].is_string());
    assert!(claimed.body["config"]["digest"].is_string());
    assert_eq!(claimed.body["spec"]["slug"], place.spec.as_str());
}

async fn a_claim_without_a_job_is_null(town: &Town) {
    let place = town.place().await;
    let claimed = claim(town, &place, 0).await;
    assert_eq!((claimed.status, claimed.body), (200, Value::Null));
}

async fn a_claim_that_was_not_heard_is_answered_again(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let first = claim(town, &place, 30).await;
    let second = claim(town, &place, 30).await;
    assert_eq!(first.body["uuid"], second.body["uuid"]);
}

async fn a_failure_is_flat_too(town: &Town) {
    let place = town.place().await;
    let (mut socket, job) = running(town, &place).await;
    socket
        .say(json!({"event": "failed", "error": "no luck", "exit_code": 3, "stderr": "boom"}))
        .await;
    assert_eq!(socket.hear().await, acknowledged());
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["status"], "failed");
    assert_eq!(shown["output"]["error"], "no luck");
    assert_eq!(shown["output"]["results"][0]["exit_code"], 3);
}

async fn what_a_job_writes_on_its_own_socket_is_live_and_kept(town: &Town) {
    let place = town.place().await;
    let (mut socket, job) = running(town, &place).await;
    tell(&mut socket, 0, "so far").await;
    next_piece(town, &place, &job, None).await;
    socket.say(json!({"event": "heartbeat"})).await;
    assert_eq!(
        socket.hear().await,
        acknowledged(),
        "output is not answered"
    );
    town.cancel(&place, &job).await;
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["output"]["results"][0]["stdout"], "so far");
}

async fn a_flat_result_may_name_what_was_uploaded_beside_it(town: &Town) {
    let place = town.place().await;
    let (mut socket, job) = running(town, &place).await;
    let upload = Upload::new(town, &place, &job, BMF.as_bytes());
    upload.whole().await;
    socket
        .say(json!({
            "event": "completed", "exit_code": 0, "stdout": "{\"ad",
            "large": upload.result()["large"],
        }))
        .await;
    assert_eq!(socket.hear().await, acknowledged());
    town.until(&place, &job, "process").await;
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["output"]["large"]["size"], BMF.len());
    let report = town
        .get(&format!("/v0/projects/{}/reports", place.project))
        .await;
    assert_eq!(report.body[0]["status"], "ready", "{report:?}");
}

async fn a_cancel_is_pushed_to_the_socket(town: &Town) {
    let place = town.place().await;
    let (mut socket, job) = running(town, &place).await;
    town.cancel(&place, &job).await;
    assert_eq!(socket.hear().await, json!({"event": "cancel"}));
    socket.say(json!({"event": "canceled"})).await;
    assert_eq!(socket.hear().await, acknowledged());
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

async fn only_live_jobs_of_this_runner_have_a_socket(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let pending = town.submit(&place, json!({})).await;
    assert_eq!(refusal(open(town, &place, &pending).await), 404);
    let claimed = claim(town, &place, 30).await;
    let job = text(&claimed.body["uuid"]);
    assert_eq!(refusal(open(town, &other, &job).await), 404);
    town.cancel(&place, &job).await;
    assert_eq!(refusal(open(town, &place, &job).await), 409);
}

async fn a_pull_token_is_renewed_while_the_lease_lives(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let (_socket, job) = running(town, &place).await;
    let renew = async |place: &Place| {
        let path = format!("/v0/runners/{}/jobs/{job}/token", place.runner);
        town.send(Method::POST, &path, Some(&place.key), None).await
    };
    assert!(renew(&place).await.body["oci_token"].is_string());
    assert_eq!(renew(&other).await.status, 404);
    town.cancel(&place, &job).await;
    assert_eq!(renew(&place).await.status, 404);
}

async fn a_claim_needs_the_key_of_the_runner_in_the_path(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let path = format!("/v0/runners/{}/jobs", place.runner);
    for key in [None, Some(other.key.as_str()), Some(town.admin.as_str())] {
        let answer = town.send(Method::POST, &path, key, None).await;
        assert_eq!(answer.status, 401, "{answer:?}");
    }
}

fn refusal(outcome: Result<Channel, Error>) -> u16 {
    match outcome {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("{other:?} is no refusal"),
    }
}
