//! A runner with several slots, of which each has a channel of its own.

use futures_util::{FutureExt as _, StreamExt as _};
use serde_json::json;

use super::support::{Bench, Channel, JOB, execution};
use crate::{AgentError, Ended, Verdict};

const SECOND_JOB: &str = "01a1de47-71b7-7681-a510-54ad0fe9b85c";

/// A server that knows slots, with the channels of both slots of a runner.
async fn both(bench: &Bench) -> [Channel; 2] {
    let (first, query) = bench.opened(Some(64)).await;
    assert_eq!(query.as_deref(), Some("slot=0&slots=2"));
    let (second, query) = bench.opened(Some(64)).await;
    assert_eq!(query.as_deref(), Some("slot=1&slots=2"));
    [first, second]
}

/// Hears all that the agent says until it has closed the channel.
async fn until_closed(mut channel: Channel) {
    while let Some(Ok(_)) = channel.0.next().await {}
}

#[tokio::test]
async fn every_slot_asks_a_server_that_knows_slots() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    for mut channel in both(&bench).await {
        channel.expect("ready").await;
    }
}

/// The runner has this channel, and asks for no other until it is told to stop.
async fn ends_with_one_channel(mut bench: Bench, mut only: Channel) {
    only.expect("ready").await;
    bench.shutdown.drain.cancel();
    let (ended, ()) = tokio::join!(bench.ended(), until_closed(only));
    assert_eq!(ended.unwrap(), Ended::AsAsked);
    assert!(bench.dialed_again().now_or_never().is_none());
}

#[tokio::test]
async fn a_server_that_does_not_know_slots_hears_of_one() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    let (only, _) = bench.opened(None).await;
    ends_with_one_channel(bench, only).await;
}

#[tokio::test]
async fn a_server_for_fewer_slots_hears_of_one() {
    let mut bench = Bench::new().await;
    bench.start_with(3, false);
    let (only, query) = bench.opened(Some(2)).await;
    assert_eq!(query.as_deref(), Some("slot=0&slots=3"));
    ends_with_one_channel(bench, only).await;
}

#[tokio::test]
async fn a_slot_says_nothing_to_a_server_that_would_mistake_it() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    let [mut first, second] = both(&bench).await;
    first.expect("ready").await;
    drop(second);
    // Another server behind the same address, which is older.
    let (second, _) = bench.opened(None).await;
    until_closed(second).await;
    let (mut second, query) = bench.opened(Some(64)).await;
    assert_eq!(query.as_deref(), Some("slot=1&slots=2"));
    second.expect("ready").await;
}

#[tokio::test]
async fn what_a_slot_left_that_is_no_more_is_delivered_by_the_first() {
    for slots in [1, 2] {
        let mut bench = Bench::new().await;
        let left = bench.data_dir().join("slots/5");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("held"), JOB).unwrap();
        bench.start_with(slots, false);
        let (mut channel, _) = bench.opened(Some(64)).await;
        let failed = channel.expect("failed").await;
        assert_eq!(failed["job"], JOB);
        channel.acknowledge().await;
        channel.expect("ready").await;
        let spooled = std::fs::read_dir(left.join("spool")).unwrap();
        assert_eq!(spooled.count(), 0);
    }
}

#[tokio::test]
async fn what_a_slot_left_is_delivered_to_a_server_that_does_not_know_it() {
    let mut bench = Bench::new().await;
    let left = bench.data_dir().join("slots/1");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(left.join("held"), JOB).unwrap();
    bench.start_with(2, false);
    let (mut channel, _) = bench.opened(None).await;
    assert_eq!(channel.expect("failed").await["job"], JOB);
}

#[tokio::test]
async fn a_drain_reaches_every_slot() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    let [mut first, mut second] = both(&bench).await;
    first.expect("ready").await;
    second.begin_job(&bench).await;
    bench.shutdown.drain.cancel();
    until_closed(first).await;
    bench.execute(execution(Verdict::Completed, []));
    second.expect_after_heartbeats("completed").await;
    second.acknowledge().await;
    let (ended, ()) = tokio::join!(bench.ended(), until_closed(second));
    assert_eq!(ended.unwrap(), Ended::AsAsked);
}

#[tokio::test]
async fn a_refused_key_ends_every_slot() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    let [mut first, second] = both(&bench).await;
    first.expect("ready").await;
    drop(second);
    bench.refuse("401 Unauthorized").await;
    let (ended, ()) = tokio::join!(bench.ended(), until_closed(first));
    assert!(matches!(ended, Err(AgentError::Unauthorized)), "{ended:?}");
}

#[tokio::test]
async fn an_update_waits_until_every_slot_is_free() {
    let mut bench = Bench::new().await;
    bench.start_with(2, true);
    let [mut first, mut second] = both(&bench).await;
    second.begin_job(&bench).await;
    first.expect("ready").await;
    first
        .send(&json!({"event": "update", "version": "9", "url": "http://x/", "checksum": "00"}))
        .await;
    until_closed(first).await;
    bench.execute(execution(Verdict::Completed, []));
    second.expect_after_heartbeats("completed").await;
    second.acknowledge().await;
    let (ended, ()) = tokio::join!(bench.ended(), until_closed(second));
    assert!(matches!(ended, Ok(Ended::Update(_))), "{ended:?}");
}

#[tokio::test]
async fn each_slot_keeps_its_own_results() {
    let mut bench = Bench::new().await;
    bench.start_with(2, false);
    let [first, mut second] = both(&bench).await;
    second.begin_job(&bench).await;
    assert!(bench.data_dir().join("slots/1/held").exists());
    assert!(!bench.is_held());
    bench.kill().await;
    drop((first, second));
    std::fs::write(bench.data_dir().join("held"), SECOND_JOB).unwrap();
    bench.start_with(2, false);
    let (mut first, _) = bench.opened(Some(64)).await;
    let mut delivered = Vec::new();
    for _ in 0..2 {
        let failed = first.expect("failed").await;
        delivered.push(failed["job"].clone());
        first
            .send(&json!({"event": "ack", "job": failed["job"]}))
            .await;
    }
    assert_eq!(delivered, [JOB, SECOND_JOB]);
}
