//! What people can do with runners that stock servers do not offer, and what runners tell.

use serde_json::{Value, json};

use crate::town::{Channel, Place, Town, ack, text};
use crate::towns::on_both_engines;

on_both_engines!(
    a_drained_runner_finishes_and_is_given_nothing_more,
    a_drained_runner_that_waits_leaves_work_to_others,
    a_runner_that_waits_is_given_the_jobs_of_a_spec_it_gets,
    a_runner_that_asks_again_is_given_what_came_meanwhile,
    what_a_runner_tells_about_itself_is_shown,
    a_runner_is_told_how_far_a_job_is_to_be_kept_from_its_host,
    what_a_canceled_job_wrote_is_kept,
    a_deleted_report_takes_its_job_along,
    a_runner_is_away_then_idle_then_busy,
);

async fn drain(town: &Town, runner: &str, draining: bool) -> Value {
    let path = format!("/v0/runners/{runner}");
    let body = Some(json!({ "draining": draining }));
    let answer = town
        .send(reqwest::Method::PATCH, &path, Some(&town.admin), body)
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

async fn a_drained_runner_finishes_and_is_given_nothing_more(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    assert!(drain(town, &place.runner, true).await["draining"].is_string());
    let waits = town.submit(&place, json!({})).await;
    channel.say(crate::town::completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    let why = format!("/v0/projects/{}/jobs/{waits}/why", place.project);
    assert_eq!(town.get(&why).await.body["blocker"], "no_runner");
    // It hears at once that it is in use again.
    channel.say(json!({"event": "ready"})).await;
    assert_eq!(
        drain(town, &place.runner, false).await["draining"],
        Value::Null
    );
    assert_eq!(text(&channel.hear().await["uuid"]), waits);
}

/// A channel whose runner has asked for work, and whose question was answered with nothing so far: what it told is written down
/// by the look that found nothing.
async fn waiting(town: &Town, place: &Place) -> Channel {
    let mut channel = town.channel(place).await;
    let told = json!({"os": "linux", "arch": "x86_64", "version": "9.9.9"});
    channel
        .say(json!({"event": "ready", "poll_timeout": 900, "runner": told}))
        .await;
    let path = format!("/v0/runners/{}", place.runner);
    while town.get(&path).await.body["metadata"] != told {}
    channel
}

async fn a_drained_runner_that_waits_leaves_work_to_others(town: &Town) {
    let place = town.place().await;
    let other = town.another_runner(&place, &place.spec).await;
    // The one that waits longest is the drained one.
    let first = waiting(town, &place).await;
    drain(town, &place.runner, true).await;
    let mut second = waiting(town, &other).await;
    let job = town.submit(&place, json!({})).await;
    assert_eq!(text(&second.hear().await["uuid"]), job);
    drop(first);
}

async fn a_runner_that_waits_is_given_the_jobs_of_a_spec_it_gets(town: &Town) {
    let (place, elsewhere) = (town.place().await, town.place().await);
    let mut channel = waiting(town, &place).await;
    let job = town.submit(&elsewhere, json!({})).await;
    let specs = format!("/v0/runners/{}/specs", place.runner);
    let linked = town.post(&specs, json!({ "spec": elsewhere.spec })).await;
    assert_eq!(linked.status, 201, "{linked:?}");
    assert_eq!(text(&channel.hear().await["uuid"]), job);
}

async fn a_runner_that_asks_again_is_given_what_came_meanwhile(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    for _ in 0..2 {
        channel
            .say(json!({"event": "ready", "poll_timeout": 1}))
            .await;
        assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    }
    let job = town.submit(&place, json!({})).await;
    channel.say(json!({"event": "ready"})).await;
    assert_eq!(text(&channel.hear().await["uuid"]), job);
}

async fn what_a_runner_tells_about_itself_is_shown(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    let host = json!({
        "name": "iron", "kernel": "6.1", "cpus": 8, "memory_bytes": 1024, "isolation": "microvm", "backend": "qemu",
    });
    let told = json!({"os": "linux", "arch": "x86_64", "version": "9.9.9", "host": host});
    channel
        .say(json!({"event": "ready", "poll_timeout": 1, "runner": told}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    let shown = town.get(&format!("/v0/runners/{}", place.runner)).await;
    assert_eq!(shown.body["metadata"], told);
}

async fn a_runner_is_told_how_far_a_job_is_to_be_kept_from_its_host(town: &Town) {
    let place = town.place().await;
    let isolated = format!("{}-isolated", place.spec);
    let body = json!({
        "name": isolated, "os": "linux", "architecture": "x86_64", "isolation": "firecracker",
        "cpu": 1, "memory": 1_073_741_824_u64, "disk": 1_073_741_824_u64,
    });
    let made = town.post("/v0/specs", body).await;
    assert_eq!(made.status, 201, "{made:?}");
    let runner = town.another_runner(&place, &isolated).await;
    let place = Place {
        spec: isolated,
        ..runner
    };
    let job = town.submit(&place, json!({})).await;
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "ready"})).await;
    let heard = channel.hear().await;
    assert_eq!(text(&heard["uuid"]), job);
    assert_eq!(heard["spec"]["isolation"], "firecracker");
    assert_eq!(
        town.job(&place, &job).await["spec"]["isolation"],
        "firecracker"
    );
}

async fn what_a_canceled_job_wrote_is_kept(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    town.cancel(&place, &job).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    channel
        .say(json!({
            "event": "canceled", "job": job, "results": [{"exit_code": 143, "stdout": "half of it"}],
        }))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    let found = town.job(&place, &job).await;
    assert_eq!(found["status"], "canceled");
    assert_eq!(found["output"]["results"][0]["stdout"], "half of it");
}

async fn a_deleted_report_takes_its_job_along(town: &Town) {
    let place = town.place().await;
    let answer = town
        .post("/v0/run", crate::town::run(&place, json!({})))
        .await;
    let (report, job) = (text(&answer.body["uuid"]), text(&answer.body["job"]));
    let path = format!("/v0/projects/{}/reports/{report}", place.project);
    let deleted = town
        .send(reqwest::Method::DELETE, &path, Some(&town.admin), None)
        .await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(town.get(&path).await.status, 404);
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

async fn a_runner_is_away_then_idle_then_busy(town: &Town) {
    let place = town.place().await;
    let state = async || {
        let path = format!("/v0/runners/{}", place.runner);
        text(&town.get(&path).await.body["state"])
    };
    assert_eq!(state().await, "away");
    let mut channel = town.channel(&place).await;
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    assert_eq!(state().await, "idle");
    let (_channel, _) = town.running(&place).await;
    assert_eq!(state().await, "busy");
}
