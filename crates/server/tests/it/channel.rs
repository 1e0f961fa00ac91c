//! The runner channel, word by word, as recorded from a stock server.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::town::{BMF, Town, ack, completed, text};
use crate::towns::on_both_engines;

on_both_engines!(
    a_job_goes_from_ready_to_processed,
    a_ready_runner_hears_of_a_job_that_comes_later,
    without_a_job_there_is_no_job,
    a_runner_hears_of_a_spec_that_it_serves_since_it_last_asked,
    a_failure_keeps_what_was_written,
    a_failure_before_the_start_is_one,
    files_are_read_before_stdout,
    a_result_is_delivered_again_after_a_reconnect,
    a_runner_re_attaches_in_the_middle_of_a_job,
    completed_while_claimed_takes_both_steps,
    a_ready_runner_is_sent_again_what_it_never_began,
    a_ready_runner_has_forgotten_what_it_ran,
    a_cancel_is_pushed_at_once,
    a_cancel_between_job_and_running_is_heard,
    a_result_of_a_canceled_job_is_dropped,
    a_failure_after_a_cancel_leaves_the_job_canceled,
    a_runner_cancels_by_itself,
    a_heartbeat_of_nothing_is_told_to_let_go,
    the_newest_channel_supersedes_the_older,
    an_output_that_cannot_be_read_says_why,
);

async fn a_job_goes_from_ready_to_processed(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    for _ in 0..2 {
        channel.say(json!({"event": "heartbeat"})).await;
        assert_eq!(channel.hear().await, ack(&job));
    }
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "process").await;
    assert_eq!(events, ["submit", "claim", "start", "complete", "process"]);
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["status"], "processed");
    assert_eq!(shown["output"]["results"][0]["stdout"], BMF);
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

async fn a_ready_runner_hears_of_a_job_that_comes_later(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    channel
        .say(json!({"event": "ready", "poll_timeout": 900, "later": "field"}))
        .await;
    let job = town.submit(&place, json!({"timeout": 60})).await;
    let heard = channel.hear().await;
    assert_eq!(heard["uuid"], job.as_str());
    assert_eq!(heard["timeout"], 60);
    assert_eq!(heard["spec"]["slug"], place.spec.as_str());
    assert_eq!(heard["config"]["timeout"], 60);
    assert!(text(&heard["oci_token"]).split('.').count() == 3);
    assert!(text(&heard["config"]["registry"]).starts_with("http"));
}

async fn a_runner_hears_of_a_spec_that_it_serves_since_it_last_asked(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    let ready = json!({"event": "ready", "poll_timeout": 1});
    channel.say(ready).await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    let spec = town.spec(&format!("{}-too", place.spec)).await;
    let path = format!("/v0/runners/{}/specs", place.runner);
    let linked = town.post(&path, json!({"spec": spec})).await;
    assert_eq!(linked.status, 201, "{linked:?}");
    channel
        .say(json!({"event": "ready", "poll_timeout": 900}))
        .await;
    let job = town.submit(&place, json!({"spec": spec})).await;
    assert_eq!(channel.hear().await["uuid"], job.as_str());
}

async fn without_a_job_there_is_no_job(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    channel
        .say(json!({"event": "ready", "poll_timeout": 1, "runner": {"os": "linux", "arch": "x86_64", "version": "0.0.1"}}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

async fn a_failure_keeps_what_was_written(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel
        .say(json!({
            "event": "failed", "job": job, "error": "Benchmark exited with non-zero exit code: 3",
            "results": [{"exit_code": 3, "stdout": "partial", "stderr": "boom"}],
        }))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["status"], "failed");
    assert_eq!(shown["output"]["results"][0]["stderr"], "boom");
    assert_eq!(
        shown["output"]["error"],
        "Benchmark exited with non-zero exit code: 3"
    );
}

async fn a_failure_before_the_start_is_one(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let (mut channel, job) = town.assigned(&place).await;
    channel
        .say(json!({"event": "failed", "job": job, "results": [], "error": "no such image"}))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "fail").await;
    assert_eq!(events, ["submit", "claim", "fail"]);
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["output"]["error"], "no such image");
}

async fn files_are_read_before_stdout(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel
        .say(json!({
            "event": "completed", "job": job,
            "results": [{"exit_code": 0, "stdout": "ignored", "output": {"/out/results.json": BMF}}],
        }))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    town.until(&place, &job, "process").await;
}

async fn a_result_is_delivered_again_after_a_reconnect(town: &Town) {
    let place = town.place().await;
    let (channel, job) = town.running(&place).await;
    drop(channel);
    let mut channel = town.channel(&place).await;
    for _ in 0..2 {
        channel.say(completed(&job)).await;
        assert_eq!(channel.hear().await, ack(&job));
    }
    town.until(&place, &job, "process").await;
    channel
        .say(json!({"event": "failed", "job": job, "results": [], "error": "late"}))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(town.job(&place, &job).await["status"], "processed");
}

async fn a_runner_re_attaches_in_the_middle_of_a_job(town: &Town) {
    let place = town.place().await;
    let (channel, job) = town.running(&place).await;
    drop(channel);
    let mut channel = town.channel(&place).await;
    for word in ["heartbeat", "running", "heartbeat"] {
        channel.say(json!({ "event": word })).await;
        assert_eq!(channel.hear().await, ack(&job));
    }
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "process").await;
    assert_eq!(events.iter().filter(|event| *event == "start").count(), 1);
}

async fn completed_while_claimed_takes_both_steps(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let (mut channel, job) = town.assigned(&place).await;
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "process").await;
    assert_eq!(events, ["submit", "claim", "start", "complete", "process"]);
}

async fn a_ready_runner_is_sent_again_what_it_never_began(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    town.submit(&place, json!({})).await;
    let (channel, job) = town.assigned(&place).await;
    drop(channel);
    let (mut channel, again) = town.assigned(&place).await;
    assert_eq!(again, job);
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "start").await;
    assert_eq!(events, ["submit", "claim", "start"]);
}

async fn a_ready_runner_has_forgotten_what_it_ran(town: &Town) {
    let place = town.place().await;
    let (channel, job) = town.running(&place).await;
    drop(channel);
    let mut channel = town.channel(&place).await;
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
    assert_eq!(town.job(&place, &job).await["status"], "failed");
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    let events = town.until(&place, &job, "process").await;
    assert!(events.contains(&"late_result".to_owned()), "{events:?}");
}

async fn a_cancel_is_pushed_at_once(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    assert_eq!(town.cancel(&place, &job).await.status, 200);
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    // A stray heartbeat is not answered; the answer to the last word comes next.
    channel.say(json!({"event": "heartbeat"})).await;
    channel.say(json!({"event": "canceled", "job": job})).await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

async fn a_cancel_between_job_and_running_is_heard(town: &Town) {
    let place = town.place().await;
    town.submit(&place, json!({})).await;
    let (mut channel, job) = town.assigned(&place).await;
    town.cancel(&place, &job).await;
    channel.say(json!({"event": "running"})).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    channel.say(json!({"event": "canceled", "job": job})).await;
    assert_eq!(channel.hear().await, ack(&job));
}

async fn a_result_of_a_canceled_job_is_dropped(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    town.cancel(&place, &job).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    channel.say(completed(&job)).await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

async fn a_failure_after_a_cancel_leaves_the_job_canceled(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    town.cancel(&place, &job).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
    channel
        .say(json!({
            "event": "failed", "job": job, "error": "Execution canceled: job was canceled",
            "results": [{"exit_code": 143, "stdout": "half"}],
        }))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    let shown = town.job(&place, &job).await;
    assert_eq!(shown["status"], "canceled");
    assert_eq!(shown["output"]["results"][0]["stdout"], "half");
}

async fn a_runner_cancels_by_itself(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(json!({"event": "canceled", "job": job})).await;
    assert_eq!(channel.hear().await, ack(&job));
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

async fn a_heartbeat_of_nothing_is_told_to_let_go(town: &Town) {
    let place = town.place().await;
    let mut channel = town.channel(&place).await;
    channel.say(json!({"event": "heartbeat"})).await;
    assert_eq!(channel.hear().await, json!({"event": "cancel"}));
}

async fn the_newest_channel_supersedes_the_older(town: &Town) {
    let place = town.place().await;
    let (mut older, job) = town.running(&place).await;
    let mut newer = town.channel(&place).await;
    assert!(older.end().await.is_some());
    newer.say(json!({"event": "heartbeat"})).await;
    assert_eq!(newer.hear().await, ack(&job));
}

async fn an_output_that_cannot_be_read_says_why(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel
        .say(json!({"event": "completed", "job": job, "results": [{"exit_code": 0, "stdout": "no numbers"}]}))
        .await;
    assert_eq!(channel.hear().await, ack(&job));
    // Nothing tells when a report turns invalid, so the next job's end is waited for: the kernel takes them in order.
    channel
        .send(Message::Ping(Vec::new().into()))
        .await
        .unwrap();
    let next = town.submit(&place, json!({})).await;
    channel.say(json!({"event": "ready"})).await;
    assert_eq!(channel.hear().await["uuid"], next.as_str());
    channel.say(completed(&next)).await;
    assert_eq!(channel.hear().await, ack(&next));
    town.until(&place, &next, "process").await;
    let shown: Value = town.job(&place, &job).await;
    assert_eq!(shown["status"], "completed");
    assert!(!text(&shown["error"]).is_empty());
    assert_eq!(shown["output"]["error"], shown["error"]);
}
