//! What people can do with jobs that stock servers do not offer.

use serde_json::{Value, json};

use crate::town::{Town, completed, text};
use crate::towns::on_both_engines;

on_both_engines!(
    a_pending_job_is_canceled_and_never_assigned,
    a_job_that_ended_is_not_canceled,
    an_ended_job_is_done_again,
    a_job_says_why_it_waits,
    a_feed_goes_on_where_it_was_cut_off,
    a_feed_ends_when_the_output_cannot_be_read,
    jobs_are_listed_by_status,
    unknown_and_foreign_jobs_look_alike,
    what_happens_is_counted,
);

async fn a_pending_job_is_canceled_and_never_assigned(town: &Town) {
    let place = town.place().await;
    let job = town.submit(&place, json!({})).await;
    let canceled = town.cancel(&place, &job).await;
    assert_eq!(canceled.body["status"], "canceled");
    assert_eq!(town.cancel(&place, &job).await.status, 200);
    let mut channel = town.channel(&place).await;
    channel
        .say(json!({"event": "ready", "poll_timeout": 1}))
        .await;
    assert_eq!(channel.hear().await, json!({"event": "no_job"}));
}

async fn a_job_that_ended_is_not_canceled(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
    assert_eq!(town.cancel(&place, &job).await.status, 409);
    assert_eq!(town.job(&place, &job).await["status"], "processed");
}

async fn an_ended_job_is_done_again(town: &Town) {
    let place = town.place().await;
    let job = town.submit(&place, json!({"timeout": 77})).await;
    let path = format!("/v0/projects/{}/jobs/{job}/retry", place.project);
    assert_eq!(town.post(&path, Value::Null).await.status, 409);
    town.cancel(&place, &job).await;
    let again = town.post(&path, Value::Null).await;
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(again.body["retry_of"], job.as_str());
    assert_eq!(again.body["status"], "pending");
    let (mut channel, assigned) = town.assigned(&place).await;
    assert_eq!(assigned, text(&again.body["uuid"]));
    channel.say(completed(&assigned)).await;
    channel.hear().await;
    town.until(&place, &assigned, "process").await;
    assert_eq!(town.job(&place, &job).await["status"], "canceled");
}

async fn a_job_says_why_it_waits(town: &Town) {
    let place = town.place().await;
    let first = town.submit(&place, json!({})).await;
    let why = async |job: &str| {
        let path = format!("/v0/projects/{}/jobs/{job}/why", place.project);
        town.get(&path).await.body
    };
    assert_eq!(why(&first).await["blocker"], "no_live_runner");
    let (_channel, _) = town.assigned(&place).await;
    let second = town.submit(&place, json!({})).await;
    let third = town.submit(&place, json!({})).await;
    assert_eq!(why(&second).await["blocker"], "runners_busy");
    assert_eq!(why(&third).await["position"], 2);
    assert_eq!(why(&first).await["status"], "claimed");
}

async fn a_feed_ends_when_the_output_cannot_be_read(town: &Town) {
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    let mut feed = town.feed(&place, &job, None).await;
    let results = json!([{"exit_code": 0, "stdout": "no numbers"}]);
    channel
        .say(json!({"event": "completed", "job": job, "results": results}))
        .await;
    let mut last = String::new();
    while let Some((_, name)) = feed.next().await {
        last = name;
    }
    assert_eq!(last, "complete");
    let found = town.job(&place, &job).await;
    assert_eq!(found["status"], "completed");
    assert!(text(&found["error"]).contains("cannot read"), "{found}");
}

async fn a_feed_goes_on_where_it_was_cut_off(town: &Town) {
    let place = town.place().await;
    let job = town.submit(&place, json!({})).await;
    let mut feed = town.feed(&place, &job, None).await;
    let (id, name) = feed.next().await.unwrap();
    assert_eq!((id.as_str(), name.as_str()), ("1", "submit"));
    drop(feed);
    let (_channel, _) = town.assigned(&place).await;
    town.cancel(&place, &job).await;
    let mut feed = town.feed(&place, &job, Some("1")).await;
    let mut names = Vec::new();
    while let Some((_, name)) = feed.next().await {
        names.push(name);
    }
    assert_eq!(names, ["claim", "user_cancel"]);
    let path = format!("/v0/projects/{}/jobs/{job}/events?after=2", place.project);
    let listed = town.get(&path).await.body;
    assert_eq!(listed[0]["event"], "user_cancel");
}

async fn jobs_are_listed_by_status(town: &Town) {
    let place = town.place().await;
    for _ in 0..3 {
        town.submit(&place, json!({})).await;
    }
    let (_channel, job) = town.assigned(&place).await;
    let list = async |query: &str| {
        let path = format!("/v0/projects/{}/jobs{query}", place.project);
        town.get(&path).await
    };
    let all = list("").await;
    assert_eq!(all.body.as_array().unwrap().len(), 3);
    let pending = list("?status=pending&per_page=1").await;
    assert_eq!(pending.total.as_deref(), Some("2"));
    assert_eq!(pending.body.as_array().unwrap().len(), 1);
    let claimed = list("?status=claimed").await.body;
    assert_eq!(claimed[0]["uuid"], job.as_str());
    assert_eq!(list("?direction=asc").await.body[0]["uuid"], job.as_str());
}

async fn unknown_and_foreign_jobs_look_alike(town: &Town) {
    let place = town.place().await;
    let other = town.place().await;
    let job = town.submit(&place, json!({})).await;
    town.submit(&other, json!({})).await;
    let nobody = "0197d1de-4848-7ff0-94d6-cb394167098c";
    let mut seen = Vec::new();
    for uuid in [job.as_str(), nobody] {
        let path = format!("/v0/projects/{}/jobs/{uuid}", other.project);
        let answer = town.get(&path).await;
        seen.push((answer.status, text(&answer.body["message"])));
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0].0, 404);
}

/// Each server counts for itself.
async fn what_happens_is_counted(town: &Town) {
    let _counting = town.every_door();
    let place = town.place().await;
    let (mut channel, job) = town.running(&place).await;
    channel.say(completed(&job)).await;
    channel.hear().await;
    town.until(&place, &job, "process").await;
    let text = town.metrics().await;
    for name in [
        "server_startup_total 1",
        "runner_create_total",
        "project_create_total",
        "run_create_total",
        "report_create_total",
        "report_create_duration_seconds_count",
        "report_process_duration_seconds_count",
        "report_write_duration_seconds_count",
        "metrics_create_total",
        "runner_job_claim_total",
        "runner_job_update_total{job_status=\"completed\"}",
        "job_queue_duration_seconds_count{priority_tier=\"enterprise\"}",
        "job_run_duration_seconds_count{priority_tier=\"enterprise\"}",
        "runner_state{state=\"idle\"}",
        "runner_state{state=\"executing\"}",
        "runner_state{state=\"updating\"}",
        "runner_connected",
    ] {
        assert!(text.contains(name), "{name} is not in\n{text}");
    }
}
