//! Runners that do not behave.

use reqwest::Method;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::town::{Town, ack, completed, text};
use crate::towns::on_both_engines;

on_both_engines!(
    nonsense_ends_an_idle_connection,
    nonsense_is_ignored_while_polling_and_executing,
    a_poll_timeout_out_of_range_is_nonsense,
    a_message_over_the_limit_ends_the_connection_and_the_job_goes_on,
    a_wrong_key_is_refused_before_the_upgrade,
    a_rotated_key_ends_an_open_channel,
    a_rotated_key_delivers_nothing,
    foreign_and_unknown_jobs_are_acknowledged_and_untouched,
    an_end_that_is_told_twice_counts_once,
);

const MAX_MESSAGE: usize = 4 * 1024 * 1024;

async fn nonsense_ends_an_idle_connection(town: &Town) {
    let place = town.place().await;
    for nonsense in ["not json", r#"{"event":"bogus"}"#, "[]"] {
        let mut channel = town.channel(&place).await;
        channel.send(Message::text(nonsense)).await.unwrap();
        channel.end().await;
    }
}

async fn nonsense_is_ignored_while_polling_and_executing(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "ready"})).await;
    channel.send(Message::text("not json")).await.unwrap();
    channel.say(json!({"event": "heartbeat"})).await;
    let job = town.submit(&place, json!({})).await;
    assert_eq!(channel.hear().await["uuid"], job.as_str());
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    channel.send(Message::text("{bad")).await.unwrap();
    channel.say(json!({"event": "bogus"})).await;
    channel
        .send(Message::Binary(vec![1, 2, 3].into()))
        .await
        .unwrap();
    channel.say(json!({"event": "heartbeat"})).await;
    assert_eq!(channel.hear().await, ack(&job));
}

async fn a_poll_timeout_out_of_range_is_nonsense(town: &Town) {
    let place = town.place().await;
    for seconds in [0, 901] {
        let mut channel = town.channel(&place).await;
        channel
            .say(json!({"event": "ready", "poll_timeout": seconds}))
            .await;
        channel.end().await;
    }
}

async fn a_message_over_the_limit_ends_the_connection_and_the_job_goes_on(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    let mut large = completed(&job);
    large["results"][0]["stdout"] = json!("x".repeat(MAX_MESSAGE));
    // The server may have closed before everything was sent.
    let _ = channel.send(Message::text(large.to_string())).await;
    channel.end().await;
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "heartbeat"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    channel
        .say(json!({"event": "failed", "job": job, "results": [], "error": "output too large"}))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(town.job(&place, &job).await["status"], "failed");
}

async fn a_wrong_key_is_refused_before_the_upgrade(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let path = format!("/v0/runners/{}/channel", place.runner);
    for key in ["", "nonsense", &other.key, &town.admin] {
        match town.dial(&path, key).await {
            Err(Error::Http(response)) => assert_eq!(response.status().as_u16(), 401),
            other => panic!("{other:?} is no refusal"),
        }
    }
}

async fn rotate(town: &Town, runner: &str) -> String {
    let path = format!("/v0/runners/{runner}/key");
    let made = town.post(&path, Value::Null).await;
    assert_eq!(made.status, 201, "{made:?}");
    text(&made.body["key"])
}

async fn a_rotated_key_ends_an_open_channel(town: &Town) {
    let place = town.place().await;
    let (mut executing, job) = town.running(&place).await;
    let idle = town.place().await;
    let mut waiting = town.channel(&idle).await;
    waiting.say(json!({"event": "ready"})).await;
    let key = rotate(town, &place.runner).await;
    rotate(town, &idle.runner).await;
    assert_eq!(u16::from(executing.end().await.unwrap().code), 1008);
    assert_eq!(u16::from(waiting.end().await.unwrap().code), 1008);
    let path = format!("/v0/runners/{}/channel", place.runner);
    let mut channel = town.dial(&path, &key).await.unwrap();
    channel.say(json!({"event": "heartbeat"})).await;
    assert_eq!(channel.hear().await, ack(&job));
}

async fn a_rotated_key_delivers_nothing(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    rotate(town, &place.runner).await;
    // Whether the server closes first or refuses the word, the result is not taken.
    let _ = channel
        .send(Message::text(completed(&job).to_string()))
        .await;
    channel.end().await;
    assert_eq!(town.job(&place, &job).await["status"], "running");
    let old = town
        .send(
            Method::POST,
            &format!("/v0/runners/{}/jobs", place.runner),
            Some(&place.key),
            None,
        )
        .await;
    assert_eq!(old.status, 401);
}

async fn foreign_and_unknown_jobs_are_acknowledged_and_untouched(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let (_channel, job) = town.running(&place).await;
    let mut thief = town.channel(&other).await;
    let nobody = "0197d1de-4848-7ff0-94d6-cb394167098c";
    for uuid in [job.as_str(), nobody] {
        thief.say(completed(uuid)).await;
        assert_eq!(thief.hear().await, ack(uuid));
        thief.say(json!({"event": "canceled", "job": uuid})).await;
        assert_eq!(thief.hear().await, ack(uuid));
    }
    assert_eq!(town.job(&place, &job).await["status"], "running");
}

async fn an_end_that_is_told_twice_counts_once(town: &Town) {
    for (word, status, ends) in [
        ("completed", "processed", ["complete", "process"].as_slice()),
        ("failed", "failed", &["fail"]),
        ("canceled", "canceled", &["runner_cancel"]),
    ] {
        let place = town.place().await;
        let (mut channel, job) = town.running(&place).await;
        let mut end = completed(&job);
        end["event"] = json!(word);
        if word == "failed" {
            end["error"] = json!("no luck");
        }
        for _ in 0..3 {
            channel.say(end.clone()).await;
            assert_eq!(channel.hear().await, ack(&job), "{word}");
        }
        let events = town.until(&place, &job, ends.last().unwrap()).await;
        assert_eq!(events[3..], *ends, "{word}");
        assert_eq!(town.job(&place, &job).await["status"], status);
    }
}
