use std::time::Duration;

use futures_util::SinkExt as _;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use super::support::{Bench, JOB, execution, job};
use crate::{AgentError, Delivery, Iteration, Verdict};

fn completed() -> crate::Execution {
    let iteration = Iteration {
        stdout: "42\n".into(),
        ..Iteration::default()
    };
    execution(Verdict::Completed, [iteration])
}

#[tokio::test]
async fn a_runner_introduces_itself() {
    let bench = Bench::started().await;
    let ready = bench.connected().await.expect("ready").await;
    assert_eq!(ready["poll_timeout"], 55);
    assert_eq!(ready["runner"]["os"], "linux");
    assert_eq!(ready["runner"]["version"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn an_offered_update_is_declined_once() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.expect("ready").await;
    channel
        .send(&json!({"event": "update", "version": "9", "url": "http://x/", "checksum": "00"}))
        .await;
    bench.beat();
    let ready = channel.expect("ready").await;
    assert!(ready.get("runner").is_none(), "{ready}");
}

#[tokio::test]
async fn heartbeats_keep_the_lease_while_the_image_is_pulled() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.hand_over_job().await;
    bench.setting_up().await;
    for _ in 0..3 {
        bench.beat();
        channel.expect("heartbeat").await;
        channel.acknowledge().await;
    }
    assert!(bench.is_held());
    bench.set_up();
    channel.expect("running").await;
}

#[tokio::test]
async fn a_set_up_that_fails_is_reported_and_the_next_job_asked_for() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.hand_over_job().await;
    bench.fail_set_up("pull: no such image");
    let failed = channel.expect("failed").await;
    assert_eq!(failed["error"], "pull: no such image");
    assert_eq!(failed["job"], JOB);
    channel.acknowledge().await;
    channel.expect("ready").await;
}

#[tokio::test]
async fn a_panic_of_the_executor_fails_the_job_and_not_the_agent() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.panic();
    let failed = channel.expect("failed").await;
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("fault of its own")
    );
    channel.acknowledge().await;
    channel.expect("ready").await;
}

#[tokio::test]
async fn a_ping_is_answered_while_a_job_runs() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    channel.0.send(Message::Ping("hm".into())).await.unwrap();
    assert_eq!(channel.frame().await, Message::Pong("hm".into()));
}

#[tokio::test]
async fn a_job_goes_on_without_a_connection_and_is_taken_up_again() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    drop(channel);
    let mut channel = bench.connected().await;
    channel.expect("running").await;
    channel.acknowledge().await;
    bench.beat();
    channel.expect("heartbeat").await;
    channel.acknowledge().await;
    bench.execute(completed());
    let result = channel.expect_after_heartbeats("completed").await;
    assert_eq!(result["results"][0]["stdout"], "42\n");
}

#[tokio::test]
async fn a_result_cut_off_before_its_acknowledgement_is_sent_again() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.execute(completed());
    let first = channel.expect("completed").await;
    drop(channel);
    let mut channel = bench.connected().await;
    assert_eq!(channel.message().await, first);
    channel.acknowledge().await;
    channel.expect("ready").await;
}

#[tokio::test]
async fn a_result_survives_a_kill_of_the_runner() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.execute(completed());
    let first = channel.expect("completed").await;
    bench.kill().await;
    bench.start();
    let mut channel = bench.connected().await;
    assert_eq!(channel.message().await, first);
    channel.acknowledge().await;
    channel.expect("ready").await;
    assert_eq!(bench.spooled(), 0);
}

#[tokio::test]
async fn a_job_held_at_a_kill_is_reported_as_failed_at_the_next_start() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.kill().await;
    bench.start();
    let mut channel = bench.connected().await;
    let failed = channel.expect("failed").await;
    assert_eq!(failed["job"], JOB);
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("restarted while it held this job")
    );
    channel.acknowledge().await;
    channel.expect("ready").await;
    assert!(!bench.is_held());
}

#[tokio::test]
async fn spooled_results_go_out_one_by_one_before_a_job_is_asked_for() {
    let mut bench = Bench::new().await;
    let other = "01a1de48-2639-76f0-ac7d-6f226b3e8aa1";
    let spool = crate::spool::Spool::open(bench.data_dir()).unwrap();
    for job in [JOB, other] {
        spool
            .write(&Delivery::canceled(job.parse().unwrap()))
            .unwrap();
    }
    drop(spool);
    bench.start();
    let mut channel = bench.connected().await;
    assert_eq!(channel.expect("canceled").await["job"], JOB);
    channel.acknowledge().await;
    assert_eq!(channel.expect("canceled").await["job"], other);
    channel.send(&json!({"event": "ack", "job": other})).await;
    channel.expect("ready").await;
    assert_eq!(bench.spooled(), 0);
}

#[tokio::test]
async fn a_wrong_key_ends_the_agent_with_a_clear_error() {
    let mut bench = Bench::started().await;
    bench.refuse("401 Unauthorized").await;
    let ended = bench.ended().await;
    assert!(matches!(ended, Err(AgentError::Unauthorized)), "{ended:?}");
}

#[tokio::test]
async fn an_unreachable_server_is_tried_again_until_it_is_there() {
    let bench = Bench::started().await;
    for _ in 0..5 {
        bench.refuse("503 Service Unavailable").await;
    }
    bench.connected().await.expect("ready").await;
}

#[tokio::test]
async fn a_message_of_a_newer_server_is_passed_over() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.expect("ready").await;
    channel
        .send(&json!({"event": "praise", "for": "uptime"}))
        .await;
    channel
        .send(&json!({"event": "no_job", "later": true}))
        .await;
    bench.beat();
    channel.expect("ready").await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_costs_the_connection() {
    let bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.expect("ready").await;
    let text = format!(
        r#"{{"event":"no_job","x":"{}"}}"#,
        "x".repeat(crate::MAX_MESSAGE_BYTES)
    );
    // The agent may hang up before it has taken all of it.
    let _ = channel.0.send(Message::text(text)).await;
    let mut next = bench.connected().await;
    next.expect("ready").await;
}

#[tokio::test]
async fn a_drain_finishes_and_delivers_the_job_and_takes_no_other() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.shutdown.drain.cancel();
    bench.execute(completed());
    channel.expect_after_heartbeats("completed").await;
    channel.acknowledge().await;
    assert!(matches!(channel.frame().await, Message::Close(_)));
    drop(channel);
    bench.ended().await.unwrap();
    assert_eq!(bench.spooled(), 0);
}

#[tokio::test]
async fn a_drain_of_an_idle_runner_closes_the_channel_and_ends() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.expect("ready").await;
    bench.shutdown.drain.cancel();
    assert!(matches!(channel.frame().await, Message::Close(_)));
    drop(channel);
    bench.ended().await.unwrap();
}

#[tokio::test]
async fn a_job_handed_over_while_an_idle_runner_drains_is_still_done() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.expect("ready").await;
    bench.shutdown.drain.cancel();
    bench.closing().await;
    channel.send(&job()).await;
    bench.setting_up().await;
    drop(channel);
    let mut channel = bench.connected().await;
    channel.expect("heartbeat").await;
    channel.acknowledge().await;
    bench.set_up();
    channel.expect_after_heartbeats("running").await;
    channel.acknowledge().await;
    bench.execute(completed());
    channel.expect_after_heartbeats("completed").await;
    channel.acknowledge().await;
    assert!(matches!(channel.frame().await, Message::Close(_)));
    drop(channel);
    bench.ended().await.unwrap();
}

#[tokio::test]
async fn a_stop_ends_the_job_and_says_so() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.shutdown.stop.cancel();
    let failed = channel.expect_after_heartbeats("failed").await;
    assert!(
        failed["error"]
            .as_str()
            .unwrap()
            .contains("the runner was stopped")
    );
    channel.acknowledge().await;
    assert!(matches!(channel.frame().await, Message::Close(_)));
    drop(channel);
    bench.ended().await.unwrap();
}

#[tokio::test]
async fn a_stop_without_a_server_leaves_the_report_for_the_next_start() {
    let mut bench = Bench::started().await;
    let mut channel = bench.connected().await;
    channel.begin_job(&bench).await;
    bench.shutdown.stop.cancel();
    channel.expect_after_heartbeats("failed").await;
    bench.timer.advance(Duration::from_secs(15));
    assert!(matches!(channel.frame().await, Message::Close(_)));
    drop(channel);
    let ended = bench.ended().await;
    assert!(
        matches!(ended, Err(AgentError::Undelivered { .. })),
        "{ended:?}"
    );
    assert_eq!(bench.spooled(), 1);
}
