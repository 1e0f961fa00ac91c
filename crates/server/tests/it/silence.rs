//! What happens when nobody is heard: on servers of their own, which are not patient.

use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::slots::{runs, shared_place, slot, status};
use crate::town::{Town, ack, completed};
use crate::towns::{Towns, on_both_engines};
use crate::ways::Ways;

static IMPATIENT: Towns = Towns::of(|| Ways {
    impatient: true,
    ..Ways::default()
});

on_both_engines!(
    of crate::silence::IMPATIENT;
    a_runner_that_went_away_is_counted_when_it_is_given_up,
    pings_do_not_keep_a_job_alive,
    a_job_that_nobody_takes_expires,
    a_claimed_job_whose_runner_went_away_fails,
    a_job_that_takes_too_long_is_canceled,
    a_reader_that_never_reads_is_given_up,
    a_slot_that_went_away_loses_only_its_job,
);

/// Also of a runner that went away: the server counts what it decides, not what it can tell.
async fn a_runner_that_went_away_is_counted_when_it_is_given_up(town: &Town) {
    let _counting = town.every_door();
    let place = town.place().await;
    let (channel, job) = town.running(&place).await;
    drop(channel);
    town.until(&place, &job, "lost_contact").await;
    let text = town.metrics().await;
    assert!(text.contains("runner_heartbeat_timeout_total"), "{text}");
}

/// A runner that only pings is silent: its job is failed, its channel closed, and its real result still counts.
async fn pings_do_not_keep_a_job_alive(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel
        .send(Message::Ping(Vec::new().into()))
        .await
        .unwrap();
    let frame = channel.end().await.unwrap();
    assert_eq!(u16::from(frame.code), 1000);
    assert_eq!(frame.reason.as_str(), "\"heartbeat_timeout\"");
    assert_eq!(town.job(&place, &job).await["status"], "failed");
    let mut channel = town.channel(&place).await;
    // It was given up, so a runner that still runs it is to let go.
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
}

async fn a_job_that_nobody_takes_expires(town: &Town) {
    let place = town.place().await;
    let job = town.submit(&place, json!({})).await;
    town.until(&place, &job, "pending_expiry").await;
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

/// Its runner took it and was never heard of again.
async fn a_claimed_job_whose_runner_went_away_fails(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let (channel, job) = town.assigned(&place).await;
    drop(channel);
    let events = town.until(&place, &job, "lost_contact").await;
    assert_eq!(events, ["submit", "claim", "lost_contact"]);
    assert_eq!(town.job(&place, &job).await["status"], "failed");
}

/// However often its runner is heard.
async fn a_job_that_takes_too_long_is_canceled(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({"timeout": 1})).await;
    let (mut channel, job) = town.assigned(&place).await;
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    loop {
        channel.say(json!({"event": "heartbeat"})).await;
        let word = channel.hear().await;
        if word == json!({"event": "cancel"}) {
            break;
        }
        assert_eq!(word, ack(&job));
    }
    channel
        .say(json!({"event": "canceled", "job": job, "results": []}))
        .await;
    town.until(&place, &job, "hard_timeout").await;
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

/// What it is told fits into no buffer any more: it is not heard while the server cannot answer, and so its job is lost.
/// Others do not notice.
async fn a_reader_that_never_reads_is_given_up(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    let heartbeat = || Message::text(json!({"event": "heartbeat"}).to_string());
    let speaking = async {
        while channel.send(heartbeat()).await.is_ok() {}
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = speaking => {}
        _ = town.until(&place, &job, "lost_contact") => {}
    }
    let other = town.place().await;
    let (mut reader, job) = town.running(&other).await;
    reader.say(completed(&job)).await;
    reader.hear().await;
    town.until(&other, &job, "process").await;
}

/// One of two slots goes away; the other goes on.
async fn a_slot_that_went_away_loses_only_its_job(town: &Town) {
    let (place, _) = shared_place(town).await;
    let (mut gone, mut stays) = (slot(town, &place, 0).await, slot(town, &place, 1).await);
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (lost, kept) = (runs(&mut gone).await, runs(&mut stays).await);
    drop(gone);
    let speaking = async {
        loop {
            stays.say(json!({"event": "heartbeat"})).await;
            assert_eq!(stays.hear().await, ack(&kept));
        }
    };
    tokio::select! {
        () = speaking => {}
        _ = town.until(&place, &lost, "lost_contact") => {}
    }
    assert_eq!(status(town, &place, &kept).await, "running");
}
